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

    // MARK: Packing

    /// Code and text, and the stage if there is one.
    package var packed: PackedFields { PackedFields(list: [code.rawValue, text] + (stage.map { [$0] } ?? [])) }

    /// - Parameter list: that of ``packed``; without one, nil.
    package init?(packed list: [String]) {
        guard list.count > 1 else { return nil }
        self.init(FaultCode(rawValue: list[0]), list[1], stage: list.count > 2 ? list[2] : nil)
    }
}

extension FaultCode {
    /// The reason was recorded by a version without codes.
    public static let notRecorded = FaultCode("journal", "codeNotRecorded")
}
