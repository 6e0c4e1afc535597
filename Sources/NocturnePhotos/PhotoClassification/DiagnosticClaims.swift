import NocturneSystem

/// What no output may say. A package whose own words say it is refused; the tests scan every phrase of the program.
package enum DiagnosticClaims {
    package static let phrases = ["you have", "this is", "diagnosed", "diagnosis of", "safe", "nothing to worry about"]

    /// The first of them in a text, in whatever case.
    package static func found(in text: String) -> String? {
        let lower = text.lowercased()
        return phrases.first { lower.contains($0) }
    }
}
