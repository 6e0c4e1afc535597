public import NocturneSystem

/// Notes by which completed items are counted at the end of a run and in the report.
extension Note.Code {
    /// An output that was asked for could not be made from an input that it concerns.
    public static let outputMissing: Note.Code = "output.missing"
    /// A result could not be compared with a reference.
    public static let notCompared: Note.Code = "comparison.notCompared"
    /// Labels were matched by their numbers, since the reference does not name them.
    public static let comparedByNumber: Note.Code = "comparison.byNumber"
}

extension Note {
    /// - Parameter output: a file of the result, or what it holds.
    public static func missing(_ output: String, because reason: Sentence) -> Note {
        Note(.outputMissing, "not made: \(own: output): " + reason)
    }

    /// - Parameter reference: the file that was to be compared with; nil for none.
    public static func notCompared(with reference: String? = nil, because reason: Sentence) -> Note {
        Note(.notCompared, "not compared" + (reference.map { " with \(file: $0)" } ?? "") + ": " + reason)
    }

    /// - Parameter labels: those of the model that the result does not have.
    public static func notFound(_ labels: [String]) -> Note {
        Note("labels.notFound", "not found: \(own: labels.joined(separator: ", "))")
    }
}
