/// How results show the names of inputs: folders of archives are often named after UIDs or patients.
///
/// It applies to what is meant to be passed on: folders of items, their contents, `batch.json`, `statistics.csv`.
/// `retry.txt`, the events and the journal keep the inputs' paths, since the next run needs them. Names, numbers and birth
/// dates of patients in headers are in no output but DICOM objects, with any policy. ``ShownNames`` applies a policy.
public enum IdentifierPolicy: String, Sendable, Codable, CaseIterable {
    /// Nothing: items are numbered by a digest of their source.
    case none
    /// Names as they are, but with digests in place of DICOM UIDs and of words that headers say are the patient's name,
    /// number or birth date: the same word gives the same digest.
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

    /// The sentence with every name of these files in “such marks”, by which ``ShownNames/shown(in:of:)`` finds them where the
    /// files are no longer known: a series is known by its folder.
    public static func marking(_ paths: [String], in text: String) -> String {
        NameRedaction(paths, guesses: false)
            .replaced(in: text, by: { $0.first == "“" ? String($0) : mark(String($0)) })
    }

    /// A name in such marks.
    public static func mark(_ name: String) -> String { "“\(name)”" }
}
