public import NocturneSystem

/// The system could not start a thread: too many processes, or too little memory for the stacks.
public struct ThreadStartError: SystemCallError, Hashable, CustomStringConvertible {
    /// The number of threads requested, and the number that could be started.
    public let wanted: Int
    public let started: Int
    public let systemCode: Int32?

    public var description: String {
        let reason = systemCode.map { ": \(errnoText($0))" } ?? ""
        return "only \(started) of \(wanted) threads could be started\(reason); use fewer threads or raise the limit"
    }
}
