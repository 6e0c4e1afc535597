/// Notes of results about references: they are counted for the end of the run and the report.
public enum ComparisonNote {
    private static let mark = "not compared"
    /// How labels were matched where the reference does not name them.
    public static let byNumber = "by number, since the file names no labels"

    public static func notCompared(with reference: String? = nil, because reason: String) -> String {
        mark + (reference.map { " with \($0)" } ?? "") + ": " + reason
    }

    public static func compared(with reference: String, _ detail: String) -> String {
        "compared with \(reference): \(detail)"
    }

    package static func isNotCompared(_ note: String) -> Bool { note.hasPrefix(mark) }

    package static func isByNumber(_ note: String) -> Bool {
        note.hasPrefix("compared with") && note.contains(byNumber)
    }
}
