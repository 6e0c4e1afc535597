public import NocturneSystem

/// How results show the names of inputs: folders of archives are often named after UIDs or patients.
///
/// It applies to what is meant to be passed on: folders of items, their contents, `batch.json`, `statistics.csv`.
/// `retry.txt`, the events and the journal keep the inputs' paths, since the next run needs them. Names, numbers and birth
/// dates of patients in headers are in no output but DICOM objects, with any policy; but for the number where ``NamePattern`` and
/// `keep` ask for it. ``ShownNames`` applies a policy.
public enum IdentifierPolicy: String, Sendable, Codable, CaseIterable {
    /// Nothing: items are numbered by a digest of their source.
    case none
    /// Names as they are, but with digests in place of DICOM UIDs and of words that are the patient's name in headers,
    /// number or birth date: the same word gives the same digest.
    case hash
    /// Names as they are.
    case keep

    /// By its command-line name, as `batch.json` shows it; empty for the default.
    public var shown: [String: String] { self == .hash ? [:] : ["identifiers": rawValue] }

    /// The sentence with every name of these files in “such marks”, by which ``ShownNames/shown(in:of:)`` finds them where the
    /// files are no longer known: a series is known by its folder.
    public static func marking(_ paths: [String], in text: String) -> String {
        ShownNames.Redaction(paths, guesses: false)
            .replaced(in: text, by: { $0.first == "“" ? String($0) : mark(String($0)) })
    }

    /// A name in such marks.
    public static func mark(_ name: String) -> String { "“\(name)”" }
}

/// How results show the names of one item's files: by the policy of the batch, and without the words that identify its patient.
public struct ShownNames: Sendable, Hashable {
    /// That of the batch.
    public let policy: IdentifierPolicy
    /// As ``PathWords/folded(_:)`` gives them.
    private let words: Set<String>

    /// - Parameter words: of paths, by which the patient can be identified. Only ``IdentifierPolicy/hash`` uses them.
    public init(_ policy: IdentifierPolicy, words: some Sequence<String> = [String]()) {
        self.policy = policy
        self.words = policy == .hash ? Set(words) : []
    }

    /// What a fingerprint has of them: results differ when they do.
    package var fingerprint: String { ([policy.rawValue] + words.sorted()).joined(separator: " ") }

    /// The name of an item's folder.
    /// - Parameter key: what the journal knows the item by.
    public func itemName(_ name: String, key: String) -> String {
        policy == .none ? "item-" + ContentDigest.of(key).hex.prefix(12) : shown(name)
    }

    /// A name or path as results show it.
    public func shown(_ name: String) -> String {
        switch policy {
        case .none: Self.withheld
        case .hash: replacing(in: name, isSentence: false, by: Self.uidDigest)
        case .keep: name
        }
    }

    /// The number of a patient (PatientID) as it becomes part of a name.
    /// - Parameter isRemoved: whether the patient's identity was removed: then it is a pseudonym.
    public func patient(_ identifier: String, isRemoved: Bool) -> String {
        let word = PathWords.folded(identifier)
        return policy != .hash || isRemoved || word.isEmpty ? shown(identifier) : Self.patientDigest(word)
    }

    /// A text of an input, of the system or of a library as results show it.
    ///
    /// With `hash` only UIDs and words of the patient change, as in ``shown(_:)``. With `none` the names of files are removed,
    /// too: those of `paths`, what is in “such marks”, and what else looks like a path or a file. UIDs that the DICOM standard
    /// assigns to transfer syntaxes and kinds of objects identify nobody and stay; so do those that a sentence calls a
    /// transfer syntax, which manufacturers assign.
    /// - Parameter paths: of the files that the sentence may mention.
    public func shown(in text: String, of paths: [String]) -> String {
        guard policy != .keep else { return text }
        var result = text
        if policy == .none { result = Redaction(paths).replaced(in: text, by: { _ in Self.withheld }) }
        return replacing(
            in: result,
            isSentence: true,
            by: { $0.hasPrefix("1.2.840.10008.") ? $0 : policy == .none ? Self.withheld : Self.uidDigest($0) },
            keptAfter: "transfer syntax \""
        )
    }

    /// A note as results show it: only its values change.
    /// - Parameter paths: of the files that texts of inputs may mention.
    public func shown(_ note: Note, of paths: [String]) -> Note { Note(note.code, shown(note.sentence, of: paths)) }

    /// Why an item failed, as results show it: only values change.
    /// - Parameter paths: of the files that texts of inputs may mention.
    public func shown(_ sentence: Sentence, of paths: [String]) -> Sentence {
        sentence.map { value in
            switch value {
            case .own: value
            case .file(let name): .file(shown(name))
            case .input(let text): .input(shown(in: text, of: paths))
            }
        }
    }

    private static let withheld = "withheld"

    private static func uidDigest(_ uid: String) -> String { "uid-" + ContentDigest.of(uid).hex.prefix(10) }

    private static func patientDigest(_ word: String) -> String {
        "patient-" + ContentDigest.of("word of a patient: " + word).hex.prefix(8)
    }

    /// Replaces UIDs, which are components of digits joined by dots, at least five of them: fewer may be a version or an
    /// address. Then replaces the patient's words in what is between the UIDs.
    /// - Parameter introduction: a UID directly after it stays.
    private func replacing(
        in text: String,
        isSentence: Bool,
        by shown: (String) -> String,
        keptAfter introduction: String? = nil
    ) -> String {
        func withoutWords(_ text: String) -> String {
            PathWords.replacing(words, in: text, isSentence: isSentence, by: Self.patientDigest)
        }
        // Most names have too few dots for a UID.
        let dot = UInt8(ascii: ".")
        guard text.utf8.count(where: { $0 == dot }) >= 4 else { return withoutWords(text) }
        // What is finished, and what follows it up to the next UID.
        var (finished, result) = ("", "")
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
            let isKept = introduction.map { result.hasSuffix($0) } ?? false
            if isUID, !isKept {
                finished += withoutWords(result) + shown(String(core))
                result = ""
            } else {
                result += core
            }
            result += String(repeating: ".", count: trailing)
        }
        return finished + withoutWords(result)
    }
}
