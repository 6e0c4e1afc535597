/// An output that was asked for and could not be made from an input that it concerns: a note of the result, which is counted
/// for the end of the run.
public enum MissingOutput {
    private static let mark = "not made: "

    /// - Parameter output: a file of the result, or what it holds.
    public static func note(_ output: String, because reason: String) -> String { "\(mark)\(output): \(reason)" }

    package static func isOne(_ note: String) -> Bool { note.hasPrefix(mark) }
}
