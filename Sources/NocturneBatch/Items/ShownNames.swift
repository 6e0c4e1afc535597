import NocturneCore
import NocturneSystem

/// How results show the names of one item's files: by the policy of the batch, and without the words that identify its patient.
public struct ShownNames: Sendable, Hashable {
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

    /// A sentence as results show it: why an item failed, or a note about it.
    ///
    /// With `hash` only UIDs and words of the patient change, as in ``shown(_:)``. With `none` the names of files are removed,
    /// too: those of `paths`, what is in “such marks”, and what else looks like a path or a file. UIDs that the DICOM standard
    /// assigns to transfer syntaxes and kinds of objects identify nobody and stay; so do those that a sentence calls a
    /// transfer syntax, which manufacturers assign.
    /// - Parameter paths: of the files that the sentence may mention.
    public func shown(in text: String, of paths: [String]) -> String {
        guard policy != .keep else { return text }
        var result = text
        if policy == .none { result = NameRedaction(paths).replaced(in: text, by: { _ in Self.withheld }) }
        return replacing(
            in: result,
            isSentence: true,
            by: { $0.hasPrefix("1.2.840.10008.") ? $0 : policy == .none ? Self.withheld : Self.uidDigest($0) },
            keptAfter: "transfer syntax \""
        )
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
