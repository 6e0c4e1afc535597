package import NocturneConcurrency
public import NocturneSystem
import Synchronization

/// What signals and requests do to a run, from any thread, at once: flags are raised before any actor gets its turn.
public final class RunControl: Sendable {
    /// How far a run has been stopped; it never goes back.
    public enum Mode: Int, Sendable {
        case running
        /// Nothing more is started.
        case draining
        case cancelled
    }

    private struct State {
        var mode = Mode.running
        var returnsLoaded = false
        var itemFlags: [String: CancellationFlag] = [:]
        var cancelledNames: Set<String> = []
        var givenUp: String?
        var isTripped = false
        var pause: RunPause?
        /// What was ended by requests, whether a run was in it or not: false for pauses of users, true for waits for an approval.
        var endedPauses: Set<Bool> = []
        /// Active items that were stopped for others or for the memory that they hold, and why: they wait again.
        var released: [String: Postponement] = [:]
        /// At which active items wait in a pause.
        var gate: PressureGate?
        /// Requests to start items next, in their order.
        var first: [FirstRequest] = []

        func stopActive() { for flag in itemFlags.values { flag.cancel() } }

        mutating func release(_ postponement: Postponement, but names: Set<String> = []) {
            for name in itemFlags.keys where !names.contains(name) && !cancelledNames.contains(name) {
                released[name] = postponement
            }
        }
    }
    private let state = Mutex(State())
    /// Raised when the run is cancelled: for work that is about no single item.
    public let flag = CancellationFlag()
    /// Notified of every change of the mode and every request, and of what else the scheduler may wait for.
    package let changes = ChangeSignal()

    /// A run that works: nothing was requested yet.
    public init() {}

    /// The mode now. A change is announced by ``changes``.
    public var mode: Mode { state.withLock { $0.mode } }

    /// Stops every item at its next check of the flag.
    public func cancel() {
        // Before the general flag and outside any actor: items stop at their next check, whatever the actors are doing.
        state.withLock { state in
            state.mode = .cancelled
            state.stopActive()
        }
        flag.cancel()
        changes.notify()
    }

    /// Returns once the run is cancelled, or the task is.
    public func cancelled() async {
        while true {
            let generation = changes.generation
            if mode == .cancelled { return }
            do { try await changes.wait(after: generation) } catch { return }
        }
    }

    /// Why the batch could not continue, such as an output folder that is gone; nil for all other ends.
    public var givenUp: String? { state.withLock { $0.givenUp } }

    /// Stops every item like ``cancel()``, because continuing makes no sense.
    func giveUp(_ reason: String) {
        state.withLock { $0.givenUp = $0.givenUp ?? reason }
        cancel()
    }

    /// Whether the run ends so that a person can look at the latest items.
    public var isTripped: Bool { state.withLock { $0.isTripped } }

    /// Starts nothing more and stops active items, because the latest ones show that the batch is wrong. The report and the page
    /// are written.
    func trip(_ reason: String) {
        state.withLock { state in
            state.givenUp = state.givenUp ?? reason
            state.isTripped = true
            state.stopActive()
        }
        drain()
    }

    /// Starts nothing more, since a person is to look at the items of a pilot.
    func endPilot() {
        state.withLock { $0.isTripped = true }
        finishActive()
    }

    /// Starts nothing more. Items whose inference has begun come to their end; the others are left to the next run, whatever
    /// has been loaded of them.
    public func drain() {
        state.withLock { $0.returnsLoaded = true }
        finishActive()
    }

    /// Starts nothing more; all active items come to their end. In a pause they are stopped.
    func finishActive() {
        state.withLock { state in
            if state.mode == .running { state.mode = .draining }
            if state.pause != nil { state.stopActive() }
        }
        changes.notify()
    }

    /// Whether items whose inference has not begun are left to the next run.
    var returnsLoaded: Bool { state.withLock { $0.returnsLoaded } }

    /// Stops one item, active or still waiting.
    public func cancel(item name: String) {
        state.withLock { state in
            state.cancelledNames.insert(name)
            state.released[name] = nil
            state.itemFlags[name]?.cancel()
        }
        changes.notify()
    }

    /// The names of the items that are to be cancelled.
    var cancelledItems: Set<String> { state.withLock { $0.cancelledNames } }

    /// A flag for an item that is being started; raised already when the run or the item was stopped.
    package func flag(for name: String) -> CancellationFlag {
        state.withLock { state in
            let flag = CancellationFlag()
            state.itemFlags[name] = flag
            if state.mode == .cancelled || state.cancelledNames.contains(name) {
                flag.cancel()
            } else if let pause = state.pause, state.mode == .draining || pause.releasesMemory {
                state.released[name] = .paused
                flag.cancel()
            }
            return flag
        }
    }

    /// The item has ended: requests no longer reach it, and its postponement is forgotten.
    package func removeFlag(for name: String) {
        state.withLock { state in
            state.itemFlags[name] = nil
            state.released[name] = nil
        }
    }

    /// A request to cancel an item has been carried out. A later version of it, in a watch, is another matter.
    func forgetRequest(_ name: String) { state.withLock { _ = $0.cancelledNames.remove(name) } }

    /// As ``forgetRequest(_:)`` of all.
    func forgetRequests() { state.withLock { $0.cancelledNames = [] } }

    // MARK: Pauses

    /// The present pause; nil while the run works.
    public var pause: RunPause? { state.withLock { $0.pause } }

    /// Starts nothing, and active items wait at their next tile or stage; if the pause releases memory, they are put back instead. A run
    /// that starts nothing more anyway comes to its end: active items are stopped, and what was done of them is saved. A run that waits
    /// for the approval of a pilot stays as it is.
    public func pause(_ pause: RunPause) {
        state.withLock { state in
            let present = state.pause
            guard present?.awaitsApproval != true else { return }
            var pause = pause
            // A pause that is changed goes on since its beginning, as the user sees it.
            if let present, !pause.awaitsApproval { pause.since = present.since }
            state.pause = pause
            if state.mode == .running, pause.releasesMemory { state.release(.paused) }
            if state.mode == .draining || pause.releasesMemory { state.stopActive() }
            state.gate?.setPaused(true)
        }
        changes.notify()
    }

    /// Continues the pause of an earlier run.
    /// - Returns: false where a request has ended it, or put another one in its place, before this run knew of it.
    func restore(_ pause: RunPause) -> Bool {
        let isRestored = state.withLock { state in
            guard state.pause == nil, !state.endedPauses.contains(pause.awaitsApproval) else { return false }
            state.pause = pause
            state.gate?.setPaused(true)
            return true
        }
        if isRestored { changes.notify() }
        return isRestored
    }

    /// Continues after a pause.
    /// - Parameter isApproved: whether the pilot is approved. The wait for that ends by it alone, and no other pause does.
    public func endPause(isApproved: Bool = false) {
        state.withLock { state in
            state.endedPauses.insert(isApproved)
            guard state.pause?.awaitsApproval ?? false == isApproved else { return }
            state.pause = nil
            state.gate?.setPaused(false)
        }
        changes.notify()
    }

    /// Why an item that has ended was stopped, if it is to be started again; nil for any other end.
    package func postponement(of name: String) -> Postponement? { state.withLock { $0.released[name] } }

    /// From now on items wait at this gate in a pause; nil for none.
    func hold(at gate: PressureGate?) {
        state.withLock { state in
            state.gate = gate
            gate?.setPaused(state.pause != nil)
        }
    }

    // MARK: Order

    /// Starts some items next.
    public func putFirst(_ request: FirstRequest) {
        state.withLock { $0.first.append(request) }
        changes.notify()
    }

    /// Puts back all active items but these.
    package func stepAside(for names: Set<String>) {
        state.withLock { state in
            // A run that starts nothing more brings to their ends those whose inference has begun.
            guard state.mode == .running else { return }
            state.release(.steppedAside, but: names)
            for name in state.released.keys { state.itemFlags[name]?.cancel() }
        }
    }

    /// What was asked for since the last call, in this order.
    package func takeFirst() -> [FirstRequest] {
        state.withLock { state in
            defer { state.first = [] }
            return state.first
        }
    }
}

/// A request to start some items before all others.
public struct FirstRequest: Codable, Sendable, Hashable {
    /// Of items, in the order in which they are started.
    public let names: [String]
    /// Whether active items are put back at their next tile, and nothing else is started until these have ended.
    public let now: Bool

    /// - Parameters:
    ///   - names: of items, in the order in which they are started.
    ///   - now: whether active items are put back for them.
    public init(_ names: [String], now: Bool = false) { (self.names, self.now) = (names, now) }

    /// What a person reads about items of the request that were started before it, since items are loaded ahead; nil without any, and with
    /// ``now``, for which the others are put back.
    /// - Parameter active: the names of all active items.
    public func text(active: Set<String>) -> String? {
        let started = names.filter(active.contains)
        guard !now, !started.isEmpty else { return nil }
        return "Started already, so that the order of the active items stays: \(listed(started, most: 5)). "
            + "With --now, `nocturne first` puts the others back."
    }
}

/// Why an item waits again although nothing was wrong with it.
package enum Postponement: String, Sendable {
    case outsideHours = "the hours ended before its inference began"
    case tooLate = "it would probably not be finished in time"
    case paused = "the run was paused, and its memory released"
    case steppedAside = "another item is processed first, as requested"
    case stopping = "the run is to stop, and its inference had not begun"

    /// Whether it is the next one to be started again.
    var goesFirst: Bool { self == .paused || self == .steppedAside }
}
