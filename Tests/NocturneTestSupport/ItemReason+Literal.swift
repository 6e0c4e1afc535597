public import NocturneJournal
import NocturneSystem

/// A text alone, where a test is not about the code.
extension ItemReason: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) { self.init(FaultCode("test", "reason"), Sentence(shown: text)) }
}
