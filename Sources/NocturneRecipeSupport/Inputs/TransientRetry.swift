import NocturneConcurrency
import NocturneCore
package import NocturneSystem

#if canImport(Glibc)
    import Glibc
#endif

/// Tries an operation up to three times while it fails with a transient error: for headers, which are read before there
/// is an item that could be requeued.
package func retryingTransientErrors<Value, Fault: SystemCallError>(
    _ flag: CancellationFlag,
    _ body: () throws(Fault) -> Value
)
    throws(Fault)
    -> Value
{
    for attempt in 0..<2 {
        do {
            return try body()
        } catch {
            guard error.isTransient, !flag.isCancelled else { throw error }
            usleep(50_000 << (2 * UInt32(attempt)))
        }
    }
    return try body()
}
