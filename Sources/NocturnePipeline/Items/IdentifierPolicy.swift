import NocturneCore

/// What results may say of the names that inputs have: folders of archives are often called by UIDs or patients.
///
/// It is about what is made to be passed on: folders of items, what is in them, `batch.json`, `statistics.csv`.
/// `retry.txt`, the events and the journal keep the inputs' paths, since the next run needs them. Names, numbers and birth
/// dates of patients are in no output but DICOM objects, whatever the policy.
public enum IdentifierPolicy: String, Sendable, CaseIterable {
    /// Nothing: items are numbered by a digest of their source.
    case none
    /// Names as they are, but every DICOM UID in them as ten digits of its digest: the same UID gives the same digits.
    case hash
    /// Names as they are.
    case keep

    /// By its word in the options of a batch; the default where there is none.
    public init(words: [String: String]) {
        self = words["identifiers"].flatMap(IdentifierPolicy.init) ?? .hash
    }

    /// For the options of a batch; empty for the default.
    public var words: [String: String] { self == .hash ? [:] : ["identifiers": rawValue] }

    /// The name of an item's folder.
    /// - Parameter key: what the journal knows the item by.
    public func itemName(_ name: String, key: String) -> String {
        self == .none ? "item-" + ContentDigest.of(key).hex.prefix(12) : shown(name)
    }

    /// A name or path as results show it.
    public func shown(_ name: String) -> String {
        switch self {
        case .none: "withheld"
        case .hash: IdentifierPolicy.hashingUIDs(in: name)
        case .keep: name
        }
    }

    /// Components of digits joined by dots, at least five of them: the shortest that are no version or address.
    private static func hashingUIDs(in text: String) -> String {
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
            // Dots around it belong to the name, such as that before an ending.
            let uid = run.drop { $0 == "." }
            let before = run[..<uid.startIndex]
            let trailing = uid.reversed().prefix { $0 == "." }.count
            let core = uid.dropLast(trailing)
            let isUID = core.split(separator: ".").count >= 5 && !core.contains("..")
            result += before
            result += isUID ? "uid-" + ContentDigest.of(String(core)).hex.prefix(10) : String(core)
            result += String(repeating: ".", count: trailing)
        }
        return result
    }
}
