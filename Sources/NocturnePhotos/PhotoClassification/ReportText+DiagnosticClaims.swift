extension ReportText {
    /// Phrases that no output may contain, in lower case. A package whose texts contain one is refused; the tests scan every text
    /// of the program.
    static let diagnosticClaims = [
        "you have", "this is", "diagnosed", "diagnosis of", "safe", "nothing to worry about",
    ]

    /// The first such phrase in a text, ignoring case.
    package static func diagnosticClaim(in text: String) -> String? {
        let lower = text.lowercased()
        return diagnosticClaims.first { lower.contains($0) }
    }
}
