/// A remark about a result, for people and for programs: something that was assumed, repaired, left out or could not be made.
///
/// The code and the sentence are written in one place, where the note arises. What is decided by a note is decided by its code.
public struct Note: Sendable, Hashable, CustomStringConvertible {
    /// The kind of a note: domain and name with a point between them. Never changed once it was released.
    public struct Code: RawRepresentable, Sendable, Hashable, Codable, ExpressibleByStringLiteral {
        /// Such as `dicom.missingSlices`.
        public let rawValue: String

        /// A recorded code, which a later version may have written: any text is accepted.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// A code in the source, where the note arises.
        public init(stringLiteral value: String) { rawValue = value }

        /// Of a result that does not state the codes of its notes.
        public static let unknown: Code = "unknown"
    }

    /// The kind of the note: what is decided by it, and what the manual lists.
    public let code: Code
    /// The remark for people, with names of files and texts of inputs marked as such.
    public let sentence: Sentence

    /// - Parameters:
    ///   - code: of the kind; written where the note arises.
    ///   - sentence: the fact, with figures, and what was done about it.
    public init(_ code: Code, _ sentence: Sentence) { (self.code, self.sentence) = (code, sentence) }

    /// With all names of files and patients.
    public var description: String { sentence.description }

    /// The same note with words before it, such as the image that it is about.
    public func after(_ words: Sentence) -> Note { Note(code, words + sentence) }
}

extension Note: Codable {
    private enum CodingKeys: String, CodingKey { case code }

    /// - Throws: `DecodingError` unless there is one word more than there are values.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(try container.decode(Code.self, forKey: .code), try Sentence(from: decoder))
    }

    /// One object with the keys of the sentence and `code`.
    public func encode(to encoder: any Encoder) throws {
        try sentence.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code, forKey: .code)
    }
}

extension Sequence<Note> {
    /// As people read them, with all names.
    public var texts: [String] { map(\.description) }
    /// Of each; nil where there is none.
    public var codes: [Note.Code]? {
        let codes = map(\.code)
        return codes.isEmpty ? nil : codes
    }
}
