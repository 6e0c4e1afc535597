public import NocturneSystem

/// Why an item was not completed: a text for people, and a code for programs.
public struct ItemReason: Sendable, Hashable, Codable, CustomStringConvertible {
    /// What is said as the stage of items that never reached the first one.
    public static let discovery = "discover"

    public var code: FaultCode
    public var text: String
    /// In which stage it arose; nil for reasons outside the stages, such as a request of the user.
    public var stage: String?

    public init(_ code: FaultCode, _ text: String, stage: String? = nil) {
        self.code = code
        self.text = text
        self.stage = stage
    }

    /// What discovery found.
    public static func discovered(_ code: FaultCode, _ text: String) -> ItemReason {
        ItemReason(code, text, stage: discovery)
    }

    public var description: String { text }
}

extension FaultCode {
    /// The reason was recorded by a version without codes.
    public static let notRecorded = FaultCode("journal", "codeNotRecorded")
}
