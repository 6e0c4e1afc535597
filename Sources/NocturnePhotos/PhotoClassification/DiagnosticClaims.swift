import NocturneSystem

/// Phrases that no output may contain. A package whose texts contain one is refused; the tests scan every text of the
/// program.
package enum DiagnosticClaims {
    /// In lower case.
    package static let phrases = ["you have", "this is", "diagnosed", "diagnosis of", "safe", "nothing to worry about"]

    /// The first such phrase in a text, ignoring case.
    package static func found(in text: String) -> String? {
        let lower = text.lowercased()
        return phrases.first { lower.contains($0) }
    }
}
