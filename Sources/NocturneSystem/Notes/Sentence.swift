/// A sentence with values in it, of which those that come from an input are known as such: its readers decide how names of files
/// and patients are shown without searching for them in finished sentences.
///
/// It is written as a string with interpolations: `"\(count) slices of \(file: path) are missing"`.
public struct Sentence: Sendable, Hashable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// One value in a sentence.
    public enum Value: Sendable, Hashable {
        /// A number, or a name that the program or a model package gives.
        case own(String)
        /// The name or path of a file.
        case file(String)
        /// A text of an input, such as a value in its header, or of the system, which may contain names.
        case input(String)

        /// As it is, with all names.
        public var text: String {
            switch self {
            case .own(let text), .file(let text), .input(let text): text
            }
        }
    }

    /// What stands before each value, and after the last one.
    public private(set) var words: [String]
    /// In the order of the sentence; one fewer than ``words``.
    public private(set) var values: [Value]

    /// - Parameters:
    ///   - words: one more than there are values.
    ///   - values: in the order of the sentence.
    public init?(words: [String], values: [Value]) {
        guard words.count == values.count + 1 else { return nil }
        (self.words, self.values) = (words, values)
    }

    /// A sentence without values: all of it is the program's own text.
    public init(stringLiteral value: String) { (words, values) = ([value], []) }

    /// Made by the compiler from a string with interpolations.
    public init(stringInterpolation: Interpolation) { self = stringInterpolation.sentence }

    /// A sentence that is one value.
    public init(_ value: Value) { (words, values) = (["", ""], [value]) }

    /// A text that was shown before: nothing in it is replaced again.
    public init(shown text: String) { (words, values) = ([text], []) }

    /// With all names.
    public var description: String { text(\.text) }

    /// - Parameter shown: how a value is shown.
    public func text(_ shown: (Value) -> String) -> String {
        zip(values, words.dropFirst()).reduce(into: words[0]) { $0 += shown($1.0) + $1.1 }
    }

    /// The sentence with its values replaced.
    public func map(_ shown: (Value) -> Value) -> Sentence {
        var sentence = self
        sentence.values = values.map(shown)
        return sentence
    }

    /// Both sentences without a space between them; the values stay marked.
    public static func + (first: Sentence, second: Sentence) -> Sentence {
        var sum = first
        sum.append(second)
        return sum
    }

    private mutating func append(_ other: Sentence) {
        words[words.count - 1] += other.words[0]
        words += other.words.dropFirst()
        values += other.values
    }

    fileprivate mutating func append(_ text: String) { words[words.count - 1] += text }

    fileprivate mutating func append(_ value: Value) {
        values.append(value)
        words.append("")
    }

    /// A text that is interpolated without a label is one of an input: the safe choice.
    public struct Interpolation: StringInterpolationProtocol {
        fileprivate var sentence = Sentence(stringLiteral: "")

        /// Asked for by the compiler; the sizes are not used.
        public init(literalCapacity: Int, interpolationCount: Int) {}

        /// A part of the sentence as it is written in the source.
        public mutating func appendLiteral(_ literal: String) { sentence.append(literal) }

        /// A number is never a name: it is shown as it is.
        public mutating func appendInterpolation(_ number: some Numeric) { sentence.append(.own("\(number)")) }

        /// A text without a label may contain names: it is taken as one of an input.
        public mutating func appendInterpolation(_ text: some StringProtocol) { sentence.append(.input(String(text))) }

        /// A name that the program or a model package gives, or a list of numbers.
        public mutating func appendInterpolation(own text: some CustomStringConvertible) {
            sentence.append(.own("\(text)"))
        }

        /// The name or path of a file.
        public mutating func appendInterpolation(file name: String) { sentence.append(.file(name)) }

        /// Another sentence, with its values.
        public mutating func appendInterpolation(_ other: Sentence) { sentence.append(other) }

        /// What went wrong, as ``SentenceConvertible`` or as text of an input.
        public mutating func appendInterpolation(_ error: any Error) { sentence.append(Sentence(of: error)) }
    }
}

/// An error whose description is a sentence.
public protocol SentenceConvertible {
    /// The description with its values marked, so that its readers can withhold names.
    var sentence: Sentence { get }
}

extension Sentence {
    /// The description of an error.
    public init(of error: any Error) {
        self = (error as? any SentenceConvertible)?.sentence ?? Sentence(.input("\(error)"))
    }
}

extension Sequence<Sentence> {
    /// One sentence of all.
    public func joined(separator: String) -> Sentence {
        var sum: Sentence?
        for sentence in self { sum = sum.map { $0 + Sentence(shown: separator) + sentence } ?? sentence }
        return sum ?? ""
    }
}

extension Sentence: Codable {
    private enum CodingKeys: String, CodingKey { case words, values }

    /// - Throws: `DecodingError` unless there is one word more than there are values.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let words = try container.decode([String].self, forKey: .words)
        let values = try container.decodeIfPresent([Value].self, forKey: .values) ?? []
        guard let sentence = Sentence(words: words, values: values) else {
            throw DecodingError.dataCorruptedError(forKey: .words, in: container, debugDescription: "not a sentence")
        }
        self = sentence
    }

    /// An object with `words`, and `values` unless there are none.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(words, forKey: .words)
        if !values.isEmpty { try container.encode(values, forKey: .values) }
    }
}

extension Sentence.Value: Codable {
    private enum CodingKeys: String, CodingKey { case file, input }

    /// A string for a value of the program's own, else an object with one key.
    public init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            self = .own(text)
            return
        }
        let values = try decoder.container(keyedBy: CodingKeys.self)
        if let name = try values.decodeIfPresent(String.self, forKey: .file) {
            self = .file(name)
        } else {
            self = .input(try values.decode(String.self, forKey: .input))
        }
    }

    /// A string for a value of the program's own, else an object with one key, `file` or `input`.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .own(let text):
            var container = encoder.singleValueContainer()
            try container.encode(text)
        case .file(let name):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(name, forKey: .file)
        case .input(let text):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(text, forKey: .input)
        }
    }
}
