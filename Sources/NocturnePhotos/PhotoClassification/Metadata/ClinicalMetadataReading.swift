import Foundation

/// A person's fields as texts, with the names under which they were found.
struct ClinicalFields: Hashable, Sendable {
    struct Field: Hashable, Sendable {
        let name: String
        /// Nil where there is no such field.
        let text: String?
    }

    let age: Field
    let sex: Field
    let site: Field
    /// Whether "62,5" is a number: in tables whose separator is not the comma.
    var allowsDecimalComma = false
}

/// What was understood of a person's fields.
package struct ClinicalMetadataReading: Hashable, Sendable {
    /// A value that was not understood is unknown.
    package let metadata: ClinicalMetadata
    /// One text for each value that was not understood, with the name of the field and what would be understood.
    let faults: [String]
    private let assumptions: [String]

    /// For the results of the picture.
    package var notes: [String] {
        faults.map { "\($0); it was treated as unknown" } + assumptions
    }

    /// Empty fields and texts such as NA mean unknown.
    init(_ fields: ClinicalFields, sites: SiteVocabulary, settings: PhotoMetadataSettings) {
        var faults: [String] = []
        var assumptions: [String] = []
        var age: Double?
        if let text = Self.stated(fields.age) {
            age = Self.number(text, allowsDecimalComma: fields.allowsDecimalComma)
            if age == nil { faults.append("\(fields.age.name) \(Self.shown(text)) is not a number") }
        }
        var sex = ClinicalMetadata.Sex.unknown
        if let text = Self.stated(fields.sex) {
            if let known = Self.sexes[text.lowercased()] {
                sex = known
            } else {
                faults.append("\(fields.sex.name) \(Self.shown(text)) is not one of male, female, m, f, unknown")
            }
        }
        var site = sites.named(PhotoMetadataSettings.unknownSite) ?? PhotoMetadataSettings.unknownSite
        if let text = Self.known(fields.site), let exact = sites.named(text) {
            site = exact
        } else if let text = Self.stated(fields.site) {
            if let match = sites.match(text) {
                site = match.site
                if match.isAssumed {
                    assumptions.append("\(fields.site.name) \(Self.shown(text)) was taken as \(match.site)")
                }
            } else {
                faults.append("\(fields.site.name) \(Self.shown(text)) is not one of \(Self.understood(settings))")
            }
        }
        metadata = ClinicalMetadata(age: age, sex: sex, site: site)
        self.faults = faults
        self.assumptions = assumptions
    }

    private static let sexes: [String: ClinicalMetadata.Sex] = [
        "male": .male, "m": .male, "man": .male, "female": .female, "f": .female, "woman": .female,
    ]

    private static func understood(_ settings: PhotoMetadataSettings) -> String {
        let more = settings.sites.count - 40
        return settings.sites.prefix(40).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
            + ", or a usual name for one, such as back, face or foot"
    }

    // MARK: Texts

    /// Nil for the values that spreadsheets and programs write for unknown.
    private static func known(_ field: ClinicalFields.Field) -> String? {
        guard let text = field.text?.trimmingCharacters(in: .whitespacesAndNewlines) else { return nil }
        return ["", "na", "n/a", "nan", "null", "none", "unknown"].contains(text.lowercased()) ? nil : text
    }

    /// Nil for unknown, and for what people write who do not state a value.
    private static func stated(_ field: ClinicalFields.Field) -> String? {
        guard let text = known(field) else { return nil }
        let words = text.prefix(100).lowercased().split { $0.isWhitespace || $0 == "_" || $0 == "-" }
        return unstated.contains(words.joined(separator: " ")) ? nil : text
    }

    private static let unstated: Set<String> = [
        "", "?", "#n/a", "n.a.", "prefer not to say", "prefer not to answer", "not stated", "not specified",
        "not reported", "not known", "not available", "not applicable", "unspecified", "undisclosed", "missing",
    ]

    /// Parses a decimal number only: no hexadecimal digits, no infinity, which `Double` would accept.
    private static func number(_ text: String, allowsDecimalComma: Bool) -> Double? {
        var text = text
        if allowsDecimalComma, text.utf8.count(where: { $0 == UInt8(ascii: ",") }) == 1, !text.contains(".") {
            text = text.replacingOccurrences(of: ",", with: ".")
        }
        guard text.utf8.allSatisfy({ "+-.0123456789eE".utf8.contains($0) }), let value = Double(text), value.isFinite
        else { return nil }
        return value
    }

    /// For messages. What may be a date or a number of a person, and what results must not say, is not repeated.
    private static func shown(_ text: String) -> String {
        let digits = text.unicodeScalars.count { $0.properties.numericType != nil }
        guard digits < 5, DiagnosticClaims.found(in: text) == nil else {
            return "(\(text.count) characters, not shown)"
        }
        let scalars = text.unicodeScalars.prefix(40).map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: Unicode.Scalar(UInt8(ascii: " "))
            default: scalar
            }
        }
        return "\"\(String(String.UnicodeScalarView(scalars)))\""
    }
}
