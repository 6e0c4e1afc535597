internal import CPosix
import Foundation
public import NocturneSystem

/// Receives signals on a dedicated thread.
///
/// Not a dispatch source: a source that has begun to listen may lose a signal that arrives before the main thread blocks
/// it, because it raises the signal again for that thread only.
public enum SignalListener {
    /// Why the handler is called.
    public enum Event: Sendable, Hashable {
        /// The number of the signal.
        case signal(Int32)
        /// The time that was asked for has passed without a signal.
        case timeout
    }

    /// Keeps these signals until ``start(_:_:)``, instead of letting them end the process.
    public static func keep(_ signals: [Int32]) { _ = cposix_signals_begin(signals, Int32(signals.count)) }

    /// Ignores signals without a meaning for a run.
    public static func ignoreOthers(ignoresHangUp: Bool = false) {
        let signals = SignalMeaning.ignoredSignals + (ignoresHangUp ? [SIGHUP] : [])
        cposix_signals_ignore(signals, Int32(signals.count))
    }

    /// - Parameter action: called for each signal, one after the other. It returns the time without another signal after
    ///   which it is to be called again; nil for never.
    /// - Throws: ``SignalError`` when the handlers cannot be installed.
    public static func start(
        _ signals: [Int32],
        _ action: @escaping @Sendable (Event) -> Duration?
    ) throws(SignalError) {
        let source = try SignalSource(signals)
        let thread = Thread {
            var patience: Duration?
            // The thread lives as long as the process; a wait that fails ends the thread.
            while let event = try? source.next(within: patience) { patience = action(event) }
        }
        thread.name = "nocturne.signals"
        thread.start()
    }
}

/// Signals could not be received.
public struct SignalError: SystemCallError, CustomStringConvertible {
    /// The system's error number.
    public let code: Int32
    /// The same as ``code``.
    public var systemCode: Int32? { code }
    /// For people: the fact and the system's text.
    public var description: String { "cannot install signal handlers: \(errnoText(code))" }
}

/// The signals of the process, one at a time.
struct SignalSource: Sendable {
    private let descriptor: Int32

    init(_ signals: [Int32]) throws(SignalError) {
        descriptor = cposix_signals_begin(signals, Int32(signals.count))
        guard descriptor >= 0 else { throw SignalError(code: -descriptor) }
    }

    /// Blocks the calling thread until a signal comes.
    /// - Parameter patience: the longest wait; nil for no limit.
    func next(within patience: Duration?) throws(SignalError) -> SignalListener.Event {
        // Rounded up, so that the wait is never shorter than asked for; -1 waits without a limit.
        let milliseconds = patience.map { Int32(clamping: max(0, Int(($0.inSeconds * 1000).rounded(.up)))) } ?? -1
        let number = cposix_signals_next(descriptor, milliseconds)
        guard number >= 0 else { throw SignalError(code: -number) }
        return number == 0 ? .timeout : .signal(number)
    }
}
