internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#endif

/// What is to happen at which pass of which ``FaultPoint``: for proofs alone, armed once at the start of a process.
///
/// The words: `POINT:PASS:ACTION`, where the action is `kill` (SIGKILL to this process), `kill-group` (to its process
/// group), `ENOSPC`, `EIO` or `EINTR` (the point fails so, once), `delay-N` (waits N milliseconds) or `hang`. With
/// `POINT:PASS+:ACTION` it happens at that pass and every later one, and with `POINT@SUBJECT:…` only what is called so
/// counts, such as the stages of one item. `count:FILE` lets nothing happen, and appends the
/// name of every point that is passed to a file.
public enum FaultInjection {
    /// A wish that cannot be read.
    public struct InvalidWords: Error, Sendable, CustomStringConvertible {
        public let words: String
        public var description: String {
            "\(words) is no fault: POINT[@SUBJECT]:PASS[+]:ACTION with a point of "
                + FaultPoint.allCases.map(\.rawValue).joined(separator: ", ")
                + " and kill, kill-group, ENOSPC, EIO, EINTR, delay-N or hang; or count:FILE"
        }
    }

    private enum Action {
        case kill, killGroup, hang
        case fail(Int32)
        case delay(milliseconds: UInt32)
    }

    private struct Plan {
        /// Nil for counting.
        var point: FaultPoint?
        var subject: String?
        var pass = 0
        var repeats = false
        var action = Action.kill
        var log: Int32 = -1
        var passes = 0
    }

    // Written once before the batch begins, read by all.
    @usableFromInline nonisolated(unsafe) static private(set) var isArmed = false
    private static let plan = Mutex(Plan())

    /// Arms the process; before the batch begins.
    /// - Parameter isRestart: whether an engine died before this one. What was to happen once has happened then.
    /// - Throws: ``InvalidWords``.
    public static func arm(_ words: String, isRestart: Bool = false) throws(InvalidWords) {
        let parts = words.split(separator: ":", maxSplits: 2).map(String.init)
        var made = Plan()
        if parts.count == 2, parts[0] == "count" {
            made.log = open(parts[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard made.log >= 0 else { throw InvalidWords(words: words) }
        } else {
            let place = parts.first?.split(separator: "@", maxSplits: 1).map(String.init) ?? []
            guard parts.count == 3, let point = place.first.flatMap(FaultPoint.init), let action = action(parts[2]),
                let pass = Int(parts[1].hasSuffix("+") ? String(parts[1].dropLast()) : parts[1]), pass > 0
            else { throw InvalidWords(words: words) }
            made = Plan(point: point, pass: pass, repeats: parts[1].hasSuffix("+"), action: action)
            made.subject = place.count > 1 ? place[1] : nil
        }
        guard !isRestart || made.repeats || made.log >= 0 else { return }
        plan.withLock { [made] in $0 = made }
        isArmed = true
    }

    private static func action(_ word: String) -> Action? {
        switch word {
        case "kill": .kill
        case "kill-group": .killGroup
        case "hang": .hang
        case "ENOSPC": .fail(ENOSPC)
        case "EIO": .fail(EIO)
        case "EINTR": .fail(EINTR)
        default:
            word.hasPrefix("delay-") ? UInt32(word.dropFirst(6)).map { .delay(milliseconds: $0) } : nil
        }
    }

    @usableFromInline
    static func pass(_ point: FaultPoint, _ subject: String) -> Int32? {
        let action = plan.withLock { plan -> Action? in
            if plan.log >= 0 {
                let line = point.rawValue + "\n"
                _ = line.withCString { write(plan.log, $0, strlen($0)) }
                return nil
            }
            guard plan.point == point, plan.subject.map({ $0 == subject }) ?? true else { return nil }
            plan.passes += 1
            return plan.passes == plan.pass || (plan.repeats && plan.passes > plan.pass) ? plan.action : nil
        }
        switch action {
        case nil: return nil
        case .fail(let code): return code
        case .kill:
            kill(getpid(), SIGKILL)
            return nil
        case .killGroup:
            // The supervisor keeps the engine in a group of its own, so the parent is named too.
            kill(getppid(), SIGKILL)
            kill(0, SIGKILL)
            return nil
        case .delay(let milliseconds):
            usleep(milliseconds * 1000)
            return nil
        case .hang:
            while true { pause() }
        }
    }
}
