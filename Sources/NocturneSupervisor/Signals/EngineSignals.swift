internal import CPosix
import Glibc
public import NocturneBatch
public import NocturneSystem
import Synchronization

/// Signals and requests in the engine's process, turned into cancellation.
public final class EngineSignals: Sendable {
    private let state = Mutex(StopStateMachine())
    private let control: RunControl
    private let time: any TimeSource
    private let note: @Sendable (String) -> Void
    private let leave: @Sendable (_ signal: Int32, _ reason: String?) -> Void

    /// - Parameters:
    ///   - note: shows a message as part of the run's progress; must not block.
    ///   - leave: ends the process at once, after writing the reason.
    public init(
        control: RunControl,
        time: any TimeSource,
        note: @escaping @Sendable (String) -> Void,
        leave: @escaping @Sendable (_ signal: Int32, _ reason: String?) -> Void
    ) {
        self.control = control
        self.time = time
        self.note = note
        self.leave = leave
    }

    /// The first signal that asked to stop.
    public var received: Int32? { state.withLock { $0.received } }

    /// From now on the first request to stop ends the batch instead of the process.
    public func batchBegins() { state.withLock { $0.batchBegins() } }

    /// Starts listening.
    /// - Parameter readRequests: called when another process signals that there are requests in the output folder.
    /// - Throws: ``SignalError``
    public func listen(ignoresHangUp: Bool, readRequests: @escaping @Sendable () -> Void) throws(SignalError) {
        SignalListener.ignoreOthers(ignoresHangUp: ignoresHangUp)
        try SignalListener.start(SignalMeaning.heard(ignoresHangUp: ignoresHangUp)) { [self] event in
            switch event {
            case .signal(let number): receive(number, readRequests)
            case .timeout: perform(state.withLock { $0.looked(at: time.monotonic) }, isLate: true)
            }
            return state.withLock { $0.deadline }.map { max(.zero, $0 - time.monotonic) }
        }
    }

    private func receive(_ number: Int32, _ readRequests: () -> Void) {
        switch SignalMeaning.of(number) {
        case .stop: stop(number)
        case .drain:
            control.drain()
            // Before the batch has begun, its log may be another run's.
            if state.withLock({ $0.hasBegun }) { note("Finishing the items in progress; no more are started.") }
        case .readRequests: readRequests()
        case .ignored: break
        }
    }

    /// Carries out a request that came through the output folder.
    public func perform(_ request: ControlRequest.Action) {
        switch request {
        case .stop: stop(SIGINT)
        case .cancelItems(let names): for name in names { control.cancel(item: name) }
        case .pause(let pause): control.pause(pause)
        case .endPause: control.endPause()
        case .approve: control.endPause(isApproved: true)
        case .putFirst(let request): control.putFirst(request)
        }
    }

    private func stop(_ number: Int32) {
        perform(state.withLock { $0.requested(number, at: time.monotonic) }, isLate: false)
    }

    private func perform(_ action: StopStateMachine.Action, isLate: Bool) {
        switch action {
        case .none: break
        case .cancel:
            control.cancel()
            note("Stopping; partial work is saved. Press Ctrl-C again to exit immediately.")
        case .leave(let signal):
            leave(signal, isLate ? "an item did not stop in time; exiting. The journal is consistent." : nil)
        }
    }
}
