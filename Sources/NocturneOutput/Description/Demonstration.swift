public import NocturneCore

/// What results of a demonstration package begin with, wherever they are shown.
extension Disclaimer {
    /// The fact alone, for the terminal.
    public static let demonstration = "Demonstration model: its results on real images mean nothing."

    /// The disclaimer of results, after ``demonstration`` where a package among theirs is one.
    public static func marked(_ text: String = Disclaimer.text, isDemonstration: Bool) -> String {
        isDemonstration ? "\(demonstration) \(text)" : text
    }
}
