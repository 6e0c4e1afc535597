internal import CDICOMParser
public import NocturneSystem

/// What identifies the patient in a header: kept in memory during a scan, to look for it in paths and to name items.
///
/// Its description and its mirror are empty, so that it reaches no log by mistake.
public struct PatientIdentity: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    private let name: String
    /// PatientID (0010,0020); empty when it is missing.
    public let identifier: String
    private let birthDate: String
    /// Whether the identity was removed, PatientIdentityRemoved (0012,0062): what is stated are pseudonyms, which may be shown.
    public let isRemoved: Bool

    /// - Parameters:
    ///   - name: PatientName (0010,0010), its components separated by `^`.
    ///   - identifier: PatientID (0010,0020).
    ///   - birthDate: PatientBirthDate (0010,0030).
    /// - Returns: nil when all are empty.
    init?(name: String, identifier: String, birthDate: String, isRemoved: Bool) {
        guard !name.isEmpty || !identifier.isEmpty || !birthDate.isEmpty else { return nil }
        (self.name, self.identifier, self.birthDate) = (name, identifier, birthDate)
        self.isRemoved = isRemoved
    }

    /// What may be found in paths: names (without titles), identifier and birth date. Nothing of pseudonyms.
    public var sought: SoughtWords {
        guard !isRemoved else { return SoughtWords(names: [], identifiers: [], birthDate: "") }
        let groups = name.split(separator: "=", omittingEmptySubsequences: true)
        var sought = SoughtWords(names: [], identifiers: [identifier], birthDate: birthDate)
        for group in groups {
            let names = group.split(separator: "^", omittingEmptySubsequences: false).prefix(3).map(String.init)
            sought.formUnion(SoughtWords(names: names, identifiers: [identifier], birthDate: birthDate))
        }
        return sought
    }

    /// The same for all patients: interpolated into a log, it shows nothing.
    public var description: String { "a patient" }
    /// Empty, so that `dump` and the debugger's text show nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Digests of what identifies the patient and the examination in a header: whether two objects are of the same, and nothing
    /// else. They hold within one process only.
    ///
    /// Capital letters, spaces and the separators of names do not count. 64 bits each, as digits of base 36, which a
    /// string holds without allocating; empty where the element is missing or empty.
    struct Digests: Sendable, Hashable {
        let name: String
        let identifier: String
        let issuer: String
        let birthDate: String
        /// "M" or "F". Other values are not compared: "O" is written for both where the sex is not known.
        let sex: String
        let accessionNumber: String

        init(_ header: cdicom_header) {
            name = Self.digest(text(header.patient_name).uppercased())
            identifier = Self.digest(text(header.patient_id))
            issuer = Self.digest(text(header.patient_id_issuer).uppercased())
            birthDate = Self.digest(text(header.birth_date))
            let stated = text(header.patient_sex).uppercased()
            sex = ["M", "F"].contains(stated) ? stated : ""
            accessionNumber = Self.digest(text(header.accession_number))
        }

        private static let separators = Array(" ^=".utf8)

        private static func digest(_ text: String) -> String {
            let words = text.utf8.split { separators.contains($0) }
            guard !words.isEmpty else { return "" }
            var hasher = Hasher()
            for word in words { hasher.combine(Substring(word)) }
            return String(UInt(bitPattern: hasher.finalize()), radix: 36)
        }
    }
}
