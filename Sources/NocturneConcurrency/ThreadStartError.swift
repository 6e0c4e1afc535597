public import NocturneSystem

/// The system would not start a thread: too many processes, or too little memory for their stacks.
public struct ThreadStartError: SystemCallError, Hashable, CustomStringConvertible {
    /// How many threads were asked for, and how many of them could be started.
    public let wanted: Int
    public let started: Int
    public let systemCode: Int32?

    public var description: String {
        let reason = systemCode.map { ": \(errnoText($0))" } ?? ""
        return "only \(started) of \(wanted) threads could be started\(reason); use fewer threads or raise the limit"
    }
}
