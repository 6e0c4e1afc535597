internal import Glibc
internal import Synchronization

/// What is to happen at which pass of which ``FaultPoint``: for proofs alone, armed once at the start of a process.
///
/// A specification: `POINT:PASS:ACTION`, where the action is `kill` (SIGKILL to this process), `kill-group` (to its process
/// group and its parent), `kill-parent` (to its parent alone), `ENOSPC`, `EDQUOT`, `EIO` or `EINTR` (the point fails so, once),
/// `delay-N` (waits N milliseconds) or `hang`; several such with a comma between them. With
/// `POINT:PASS+:ACTION` it happens at that pass and every later one, and with `POINT@SUBJECT:…` only what is called so
/// counts, such as the stages of one item. `count:FILE` injects nothing and appends the
/// name of every point that is passed to a file; it may be combined with others.
public enum FaultInjection {
    /// An invalid fault specification.
    public struct InvalidSpecification: Error, Sendable, CustomStringConvertible {
        /// The text that was given.
        public let specification: String
        /// The text that was given, and what is accepted.
        public var description: String {
            "\(specification) is not a fault specification: POINT[@SUBJECT]:PASS[+]:ACTION with a point of "
                + FaultPoint.allCases.map(\.rawValue).joined(separator: ", ")
                + " and kill, kill-group, kill-parent, ENOSPC, EDQUOT, EIO, EINTR, delay-N or hang, several with commas between; or count:FILE"
        }
    }

    private enum Action {
        case kill, killGroup, killParent, hang
        case fail(Int32)
        case delay(milliseconds: UInt32)
    }

    private struct Plan {
        let point: FaultPoint
        let subject: String?
        let pass: Int
        let repeats: Bool
        let action: Action
        var passes = 0

        /// Counts a pass. Nil when it is none of this plan's.
        mutating func take(_ point: FaultPoint, _ subject: String) -> Action? {
            guard self.point == point, self.subject.map({ $0 == subject }) ?? true else { return nil }
            passes += 1
            return passes == pass || (repeats && passes > pass) ? action : nil
        }
    }

    private struct State {
        var plans: [Plan] = []
        /// Where passes are counted; -1 for nowhere.
        var log: Int32 = -1
    }

    /// Whether faults are to happen in this process, or are counted. Written once before the batch begins, read by all.
    public nonisolated(unsafe) static private(set) var isArmed = false
    private static let state = Mutex(State())

    /// Arms the process; before the batch begins.
    /// - Parameter isRestart: whether an engine crashed before this one. Faults that happen once have happened by then.
    /// - Throws: ``InvalidSpecification``.
    public static func arm(_ specification: String, isRestart: Bool = false) throws(InvalidSpecification) {
        var made = State()
        for word in specification.split(separator: ",", omittingEmptySubsequences: false) {
            if word.hasPrefix("count:") {
                made.log = open(String(word.dropFirst(6)), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
                guard made.log >= 0 else { throw InvalidSpecification(specification: specification) }
            } else {
                guard let plan = plan(word) else { throw InvalidSpecification(specification: specification) }
                made.plans.append(plan)
            }
        }
        // A plan of one pass would end each restarted engine at the same place again.
        if isRestart { made.plans.removeAll { !$0.repeats } }
        state.withLock { [made] in $0 = made }
        isArmed = true
    }

    private static func plan(_ specification: Substring) -> Plan? {
        let parts = specification.split(separator: ":", maxSplits: 2).map(String.init)
        let place = parts.first?.split(separator: "@", maxSplits: 1).map(String.init) ?? []
        guard parts.count == 3, let point = place.first.flatMap(FaultPoint.init), let action = action(parts[2]),
            let pass = Int(parts[1].hasSuffix("+") ? String(parts[1].dropLast()) : parts[1]), pass > 0
        else { return nil }
        return Plan(
            point: point,
            subject: place.count > 1 ? place[1] : nil,
            pass: pass,
            repeats: parts[1].hasSuffix("+"),
            action: action
        )
    }

    private static func action(_ word: String) -> Action? {
        switch word {
        case "kill": .kill
        case "kill-group": .killGroup
        case "kill-parent": .killParent
        case "hang": .hang
        case "ENOSPC": .fail(ENOSPC)
        case "EDQUOT": .fail(EDQUOT)
        case "EIO": .fail(EIO)
        case "EINTR": .fail(EINTR)
        default:
            word.hasPrefix("delay-") ? UInt32(word.dropFirst(6)).map { .delay(milliseconds: $0) } : nil
        }
    }

    @usableFromInline
    static func pass(_ point: FaultPoint, _ subject: String) -> Int32? {
        // The action is taken under the lock and done outside: one that waits must not stop the passes of other
        // threads.
        let action = state.withLock { state -> Action? in
            if state.log >= 0 {
                let line = point.rawValue + "\n"
                _ = line.withCString { write(state.log, $0, strlen($0)) }
            }
            var action: Action?
            // Every plan counts the pass, also when another one has taken it already.
            for index in state.plans.indices { action = state.plans[index].take(point, subject) ?? action }
            return action
        }
        switch action {
        case nil: return nil
        case .fail(let code): return code
        case .kill:
            kill(getpid(), SIGKILL)
            return nil
        case .killGroup:
            // The supervisor keeps the engine in a separate group, so the parent is named too.
            kill(getppid(), SIGKILL)
            kill(0, SIGKILL)
            return nil
        case .killParent:
            kill(getppid(), SIGKILL)
            return nil
        case .delay(let milliseconds):
            usleep(milliseconds * 1000)
            return nil
        case .hang:
            while true { pause() }
        }
    }
}
