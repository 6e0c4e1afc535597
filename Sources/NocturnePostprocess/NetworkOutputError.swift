public import NocturneSystem

/// The output of a network, or the encoding of a mask, that cannot be used for a result.
public struct NetworkOutputError: CodedError, Hashable, Sendable, CustomStringConvertible {
    /// Of the photo; empty where only the output is known.
    public let path: String
    /// The fact, for a person.
    public let detail: String

    /// - Parameter path: of the photo; the caller that knows it adds it.
    public init(path: String = "", detail: String) {
        self.path = path
        self.detail = detail
    }

    /// The same for all recipes.
    public var faultCode: FaultCode { .networkOutput }
    /// The detail, with the photo where it is known.
    public var description: String { path.isEmpty ? detail : "\(path): \(detail)" }
}
