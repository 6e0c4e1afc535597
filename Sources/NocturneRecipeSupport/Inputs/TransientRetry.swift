package import NocturneConcurrency
package import NocturneSystem

/// Tries an operation up to three times while it fails with a transient error: for headers, which are read before there
/// is an item that could be requeued.
package func retryingTransientErrors<Value, Fault: SystemCallError>(
    _ scope: ComputeScope,
    _ body: () throws(Fault) -> Value
)
    throws(Fault)
    -> Value
{
    for attempt in 0..<2 {
        do {
            return try body()
        } catch {
            guard error.isTransient, !scope.flag.isCancelled else { throw error }
            scope.time.block(for: .milliseconds(50 << (2 * attempt)))
        }
    }
    return try body()
}
