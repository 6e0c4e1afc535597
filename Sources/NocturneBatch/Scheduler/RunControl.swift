import NocturneConcurrency
import NocturneSystem
import Synchronization

/// What signals and requests do to a run, from any thread, at once: flags are raised before any actor gets its turn.
public final class RunControl: Sendable {
    public enum Mode: Int, Sendable { case running, draining, cancelled }

    private struct State {
        var mode = Mode.running
        var flags: [String: CancellationFlag] = [:]
        var cancelledNames: Set<String> = []
        var onCancel: (@Sendable () -> Void)?
        var onWait: (@Sendable (String?) -> Void)?
        var givenUp: String?
    }
    private let state = Mutex(State())

    public init() {}

    public var mode: Mode { state.withLock { $0.mode } }

    /// Stops every item at its next look at the flag.
    public func cancel() {
        let action = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.mode != .cancelled else { return nil }
            state.mode = .cancelled
            for flag in state.flags.values { flag.cancel() }
            return state.onCancel
        }
        action?()
    }

    /// Why the batch could not go on, such as an output folder that is gone; nil for all other ends.
    public var givenUp: String? { state.withLock { $0.givenUp } }

    /// Stops every item like ``cancel()``, because going on makes no sense.
    func giveUp(_ reason: String) {
        state.withLock { $0.givenUp = $0.givenUp ?? reason }
        cancel()
    }

    /// Says what the whole batch waits for, to whoever asks where it stands; nil for nothing.
    func waits(for words: String?) {
        let action = state.withLock { $0.onWait }
        action?(words)
    }

    /// Called whenever the batch begins to wait, and ends.
    func onWait(_ action: (@Sendable (String?) -> Void)?) { state.withLock { $0.onWait = action } }

    /// Admits nothing new; what is in flight goes on to its end.
    public func drain() {
        state.withLock { if $0.mode == .running { $0.mode = .draining } }
    }

    /// Stops one item, in flight or still waiting.
    public func cancel(item name: String) {
        state.withLock { state in
            state.cancelledNames.insert(name)
            state.flags[name]?.cancel()
        }
    }

    func wasCancelled(item name: String) -> Bool { state.withLock { $0.cancelledNames.contains(name) } }

    /// A flag for an item that is being admitted; raised already when the run was cancelled.
    func flag(for name: String) -> CancellationFlag {
        state.withLock { state in
            let flag = CancellationFlag()
            if state.mode == .cancelled || state.cancelledNames.contains(name) { flag.cancel() }
            state.flags[name] = flag
            return flag
        }
    }

    func forget(_ name: String) { state.withLock { _ = $0.flags.removeValue(forKey: name) } }

    /// A request to cancel an item has been carried out. A later version of it, in a watch, is another matter.
    func forgetRequest(_ name: String) { state.withLock { _ = $0.cancelledNames.remove(name) } }

    /// As ``forgetRequest(_:)`` of all.
    func forgetRequests() { state.withLock { $0.cancelledNames = [] } }

    /// Called once when the run is cancelled; at once when it was already.
    func onCancel(_ action: @escaping @Sendable () -> Void) {
        let now = state.withLock { state in
            state.onCancel = action
            return state.mode == .cancelled
        }
        if now { action() }
    }
}
