import CPosix
import Foundation

/// Hears signals on a thread of its own, from the moment it is made; one a process.
///
/// Not a dispatch source: a source that has begun to listen may lose a signal which comes while the main thread does not
/// yet block it, for it raises the signal again for that thread alone.
enum SignalListener {
    /// Keeps these signals until ``start(_:_:)``: by themselves they would end the process, which nobody wants of them.
    static func keep(_ signals: [Int32]) { _ = cposix_signals_begin(signals, Int32(signals.count)) }

    /// - Parameter action: called for each signal, one after the other.
    static func start(_ signals: [Int32], _ action: @escaping @Sendable (Int32) -> Void) {
        let descriptor = cposix_signals_begin(signals, Int32(signals.count))
        guard descriptor >= 0 else {
            return Terminal.error("signals cannot be heard: \(String(cString: strerror(-descriptor)))")
        }
        let thread = Thread {
            while true {
                let number = cposix_signals_next(descriptor)
                guard number > 0 else { return }
                action(number)
            }
        }
        thread.name = "nocturne.signals"
        thread.start()
    }
}
