/// The disclaimer included in every medical result.
public enum Disclaimer {
    /// The complete text; ``short`` is for tables.
    public static let text =
        "Research software. Not a medical device, not for diagnosis or treatment. Results may be wrong and must be "
        + "reviewed by a qualified person."

    /// For every row of a table.
    public static let short = "Research software. Not for diagnosis or treatment."

    /// The exact text included in every result of a skin model.
    public static let skin =
        "Nocturne is a research and educational tool. It is NOT a medical device and has NOT been approved by the FDA or "
        + "any regulatory authority. Results should NOT be used for self-diagnosis. Always consult a qualified "
        + "dermatologist for skin concerns."

    /// What results of a demonstration package begin with, wherever they are shown; alone for the terminal.
    public static let demonstration = "Demonstration model: its results on real images mean nothing."

    /// The disclaimer of results, or another text, after ``demonstration`` where a package among theirs is one.
    public static func marked(_ text: String = text, isDemonstration: Bool) -> String {
        isDemonstration ? "\(demonstration) \(text)" : text
    }

    /// The disclaimer of results that need none otherwise; nil if no package among theirs is a demonstration.
    public static func ofDemonstration(_ isDemonstration: Bool) -> String? {
        isDemonstration ? marked(isDemonstration: true) : nil
    }
}
