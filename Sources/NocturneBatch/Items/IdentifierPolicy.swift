import NocturneCore
import NocturneSystem

/// How results show the names of inputs: folders of archives are often named after UIDs or patients.
///
/// It applies to what is meant to be passed on: folders of items, their contents, `batch.json`, `statistics.csv`.
/// `retry.txt`, the events and the journal keep the inputs' paths, since the next run needs them. Names, numbers and birth
/// dates of patients are in no output but DICOM objects, with any policy.
public enum IdentifierPolicy: String, Sendable, Codable, CaseIterable {
    /// Nothing: items are numbered by a digest of their source.
    case none
    /// Names as they are, but every DICOM UID in them as ten digits of its digest: the same UID gives the same digits.
    case hash
    /// Names as they are.
    case keep

    /// As 0.1.0 kept it among the options of a batch, where ``hash`` was left out.
    /// - Throws: `DecodingError` for a value that this version does not know.
    init(version1 options: [String: String]) throws {
        guard let text = options["identifiers"] else {
            self = .hash
            return
        }
        guard let policy = IdentifierPolicy(rawValue: text) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: "unknown policy for identifiers: \(text)")
            )
        }
        self = policy
    }

    /// By its command-line name, as `batch.json` shows it; empty for the default.
    public var shown: [String: String] { self == .hash ? [:] : ["identifiers": rawValue] }

    /// The name of an item's folder.
    /// - Parameter key: what the journal knows the item by.
    public func itemName(_ name: String, key: String) -> String {
        self == .none ? "item-" + ContentDigest.of(key).hex.prefix(12) : shown(name)
    }

    /// A name or path as results show it.
    public func shown(_ name: String) -> String {
        switch self {
        case .none: IdentifierPolicy.withheld
        case .hash: IdentifierPolicy.replacingUIDs(in: name, by: IdentifierPolicy.digest)
        case .keep: name
        }
    }

    /// A sentence as results show it: why an item failed, or a note about it.
    ///
    /// With ``hash`` only its UIDs change, as in ``shown(_:)``. With ``none`` the names of files are removed, too: those of
    /// `paths`, what is in “such marks”, and what else looks like a path or a file. UIDs that the DICOM standard assigns to
    /// transfer syntaxes and kinds of objects identify nobody and stay; so do those that a sentence calls a transfer
    /// syntax, which manufacturers assign.
    /// - Parameter paths: of the files that the sentence may mention.
    public func shown(in text: String, of paths: [String]) -> String {
        guard self != .keep else { return text }
        var result = text
        if self == .none { result = NameRedaction(paths).replaced(in: text, by: { _ in IdentifierPolicy.withheld }) }
        return IdentifierPolicy.replacingUIDs(
            in: result,
            by: { $0.hasPrefix("1.2.840.10008.") ? $0 : shown($0) },
            keptAfter: "transfer syntax \""
        )
    }

    /// The sentence with every name of these files in “such marks”, by which ``shown(in:of:)`` finds them where the files
    /// are no longer known: a series is known by its folder.
    public static func marking(_ paths: [String], in text: String) -> String {
        NameRedaction(paths, guesses: false)
            .replaced(in: text, by: { $0.first == "“" ? String($0) : mark(String($0)) })
    }

    /// A name in such marks.
    public static func mark(_ name: String) -> String { "“\(name)”" }

    private static let withheld = "withheld"

    private static func digest(_ uid: String) -> String { "uid-" + ContentDigest.of(uid).hex.prefix(10) }

    /// Components of digits joined by dots, at least five of them: fewer may be a version or an address.
    /// - Parameter words: a UID directly after them stays.
    private static func replacingUIDs(
        in text: String,
        by shown: (String) -> String,
        keptAfter words: String? = nil
    ) -> String {
        var result = ""
        var rest = Substring(text)
        while let first = rest.first {
            let run = rest.prefix { $0 == "." || ($0.isASCII && $0.isNumber) }
            if run.isEmpty {
                result.append(first)
                rest = rest.dropFirst()
                continue
            }
            rest = rest[run.endIndex...]
            // Dots around it belong to the name, such as that before an extension.
            let uid = run.drop { $0 == "." }
            let before = run[..<uid.startIndex]
            let trailing = uid.reversed().prefix { $0 == "." }.count
            let core = uid.dropLast(trailing)
            let isUID = core.split(separator: ".").count >= 5 && !core.contains("..")
            result += before
            let isKept = words.map { result.hasSuffix($0) } ?? false
            result += isUID && !isKept ? shown(String(core)) : String(core)
            result += String(repeating: ".", count: trailing)
        }
        return result
    }
}

/// Finds the names of files in a sentence.
private struct NameRedaction {
    /// Paths, what they end with (`series/slice.dcm`, `slice.dcm`), and their folders (`series/`).
    private let known: Set<String>
    /// In characters, the longest first.
    private let lengths: [Int]
    /// Whether what looks like a path or a file is a name, too.
    private let guesses: Bool

    /// Of files that are not among the known ones, and whose names stand in a sentence without a mark.
    private static let endings: Set<String> = [
        "bmp", "csv", "dcm", "gif", "gz", "hdr", "ima", "img", "jpeg", "jpg", "json", "nii", "png", "tif", "tiff",
        "webp",
    ]

    init(_ paths: [String], guesses: Bool = true) {
        self.guesses = guesses
        var known = Set(paths)
        for path in paths {
            let parts = path.split(separator: "/")
            for start in parts.indices { known.insert(parts[start...].joined(separator: "/")) }
            if let folder = parts.dropLast().last { known.insert("\(folder)/") }
        }
        // Short numbers name slices in their thousands, and would be found in every figure.
        self.known = known.filter { $0.count > 5 || ($0.count > 2 && $0.contains(where: \.isLetter)) }
        lengths = Set(self.known.map(\.count)).sorted(by: >)
    }

    func replaced(in text: String, by shown: (Substring) -> String) -> String {
        var result = ""
        var rest = Substring(text)
        var isInWord = false
        while let first = rest.first {
            if let length = isInWord ? nil : name(at: rest, isFirst: result.isEmpty) {
                result += shown(rest.prefix(length))
                rest = rest.dropFirst(length)
                isInWord = true
            } else {
                result.append(first)
                rest = rest.dropFirst()
                isInWord = Self.isOfWord(first)
            }
        }
        return result
    }

    /// How many characters of the text are a name that it begins with; nil when it begins with none.
    private func name(at text: Substring, isFirst: Bool) -> Int? {
        if text.first == "“", let end = text.firstIndex(of: "”") {
            return text.distance(from: text.startIndex, to: end) + 1
        }
        let length = lengths.first { length in
            let name = text.prefix(length)
            guard name.count == length, known.contains(String(name)) else { return false }
            return name.last == "/" || !(text.dropFirst(length).first.map(Self.isOfWord) ?? false)
        }
        let word = guesses ? Self.word(text) : ""
        let isPath = word.count > 1 && word.first == "/"
        // Longer than units are.
        let hasFolder = word.count > 6 && word.contains("/") && word.contains(where: \.isLetter)
        let goesOn = length.map { text.dropFirst($0).first == "/" } ?? true
        // Errors begin with the path of their file, in which there may be spaces.
        if isPath, isFirst, goesOn, let end = text.firstRange(of: ": ")?.lowerBound {
            return text.distance(from: text.startIndex, to: end)
        }
        if let length { return length + Self.word(text.dropFirst(length)).count }
        let ending = word.split(separator: ".", omittingEmptySubsequences: false).dropFirst().last
        return isPath || hasFolder || (ending.map { Self.endings.contains($0.lowercased()) } ?? false)
            ? word.count : nil
    }

    private static func isOfWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_"
    }

    /// Up to the next space or bracket, without the marks that end a sentence or its part.
    private static func word(_ text: Substring) -> Substring {
        var word = text.prefix { !$0.isWhitespace && !"()[]\"'“”".contains($0) }
        while let last = word.last, ".,:;".contains(last) { word = word.dropLast() }
        return word
    }
}
