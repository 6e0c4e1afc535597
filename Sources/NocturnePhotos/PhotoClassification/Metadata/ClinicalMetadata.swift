import Foundation
package import NocturneSystem

/// Metadata of the person in a picture, limited to what classifiers take.
package struct ClinicalMetadata: Hashable, Sendable, Codable {
    /// As classifiers distinguish it.
    package enum Sex: String, Hashable, Sendable, Codable, CaseIterable { case male, female, unknown }

    /// In years; nil if missing.
    package let age: Double?
    /// Unknown if missing.
    package let sex: Sex
    /// One of the package's sites; ``BodySites/unknown`` if missing.
    package let site: String

    /// Of a person of whom nothing is known.
    package static let unknown = ClinicalMetadata(age: nil, sex: .unknown, site: BodySites.unknown)

    /// What is not known of the person, in words.
    var unknownFields: [String] {
        let fields = [
            ("age", age != nil), ("sex", sex != .unknown), ("site", site.lowercased() != BodySites.unknown),
        ]
        return fields.filter { !$0.1 }.map(\.0)
    }

    /// The classifier's input: age / 100 clamped to 0…1, or 0 if missing; 1 if the age is missing, else 0; 0 male, 1
    /// female, 2 unknown; the index of the site.
    package func vector(_ sites: BodySites) -> [Float] {
        let index = sites.names.firstIndex(of: site) ?? 0
        let code: Float =
            switch sex {
            case .male: 0
            case .female: 1
            case .unknown: 2
            }
        return [Float(min(max((age ?? 0) / Self.oldest, 0), 1)), age == nil ? 1 : 0, code, Float(index)]
    }

    /// The age in years that the classifier gets for all that are older.
    static let oldest = 100.0

    /// Formats an age, without decimals if it is whole.
    static func text(_ age: Double) -> String {
        age == age.rounded() && abs(age) < 1e6 ? "\(Int(age))" : "\(age)"
    }
}

extension ClinicalMetadata {
    /// A field that cannot be parsed.
    package struct ReadingError: CodedError, Hashable, Sendable, CustomStringConvertible {
        /// The fact, with the file and the row where there are some.
        package let detail: String
        /// Age, sex or site of a photo is not understood, or its row is damaged.
        package var faultCode: FaultCode { FaultCode("metadata", "invalid") }
        /// The fact alone.
        package var description: String { detail }
    }

    /// A person's fields as texts, with the names under which they were found.
    struct Fields: Hashable, Sendable {
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
    package struct Reading: Hashable, Sendable {
        /// A value that was not understood is unknown.
        package let metadata: ClinicalMetadata
        let faults: [Fault]
        private let assumptions: [Sentence]

        /// A value that was not understood.
        struct Fault: Hashable, Sendable {
            let meaning: MetadataTable.Columns.Meaning
            /// As messages show it.
            let value: String
            /// With the name of the field and what would be understood.
            let sentence: Sentence

            init(_ meaning: MetadataTable.Columns.Meaning, _ field: Fields.Field, _ text: String, _ fact: Sentence) {
                (self.meaning, value) = (meaning, Reading.shown(text))
                sentence = "\(own: field.name) \(value) \(fact)"
            }
        }

        /// Whether any value was stated and understood.
        var isKnown: Bool { metadata.unknownFields.count < 3 }

        /// The fields that are unknown and have no note on a value that was not understood.
        var unstatedFields: [String] {
            metadata.unknownFields.filter { field in !faults.contains { $0.meaning.rawValue == field } }
        }

        /// For the results of the picture.
        package var notes: [Note] {
            faults.map { Note("metadata.notUnderstood", $0.sentence + "; it was treated as unknown") }
                + assumptions.map { Note("metadata.assumed", $0) }
        }

        /// - Parameters:
        ///   - place: names the file, and the row in it.
        ///   - isStrict: whether a value that is not understood is an error, rather than unknown with a note.
        init(_ fields: Fields, sites: BodySites, place: String, isStrict: Bool) throws(ReadingError) {
            self.init(fields, sites: sites)
            if isStrict, let fault = faults.first { throw ReadingError(detail: "\(place): \(fault.sentence)") }
        }

        /// Empty fields and texts such as NA mean unknown.
        private init(_ fields: Fields, sites: BodySites) {
            var faults: [Fault] = []
            var assumptions: [Sentence] = []
            var age: Double?
            if let text = Self.stated(fields.age) {
                age = Self.number(text, allowsDecimalComma: fields.allowsDecimalComma)
                if age == nil {
                    faults.append(Fault(.age, fields.age, text, "is not a number"))
                } else if let years = age, !Self.ages.contains(years) {
                    age = nil
                    faults.append(Fault(.age, fields.age, text, "is not from 0 to 130 years"))
                }
            }
            var sex = ClinicalMetadata.Sex.unknown
            if let text = Self.stated(fields.sex) {
                // "f." is an abbreviation.
                let word = text.lowercased().replacing(".", with: "")
                if let known = Self.sexes.first(where: { $0.key == word }) {
                    sex = known.value
                } else {
                    let words = Self.sexes.map(\.key).joined(separator: ", ")
                    faults.append(Fault(.sex, fields.sex, text, "is not one of \(own: words), unknown"))
                }
            }
            var site = sites.named(BodySites.unknown) ?? BodySites.unknown
            if let text = Self.known(fields.site), let exact = sites.named(text) {
                site = exact
            } else if let text = Self.stated(fields.site) {
                if let match = sites.match(text) {
                    site = match.site
                    if match.isAssumed {
                        assumptions.append(
                            "\(own: fields.site.name) \(Self.shown(text)) was taken as \(own: match.site)"
                        )
                    }
                } else {
                    let known = Self.understood(sites.names)
                    faults.append(Fault(.site, fields.site, text, "is not one of \(own: known)"))
                }
            }
            metadata = ClinicalMetadata(age: age, sex: sex, site: site)
            self.faults = faults
            self.assumptions = assumptions
        }

        /// In years: others are mistakes, or in another unit.
        private static let ages = 0.0...130.0

        /// In the order in which messages list them.
        private static let sexes: KeyValuePairs<String, ClinicalMetadata.Sex> = [
            "male": .male, "female": .female, "m": .male, "f": .female, "w": .female, "man": .male, "woman": .female,
            "männlich": .male, "weiblich": .female, "mann": .male, "frau": .female,
        ]

        private static func understood(_ sites: [String]) -> String {
            listed(sites, most: 40) + ", or a usual name for one, such as back, face or foot"
        }

        // MARK: Texts

        /// Nil for the values that spreadsheets and programs write for unknown.
        private static func known(_ field: Fields.Field) -> String? {
            guard let text = field.text?.trimmingCharacters(in: .whitespacesAndNewlines) else { return nil }
            return ["", "na", "n/a", "nan", "null", "none", "unknown", "unbekannt"].contains(text.lowercased())
                ? nil : text
        }

        /// Nil for unknown, and for what people write who do not state a value.
        private static func stated(_ field: Fields.Field) -> String? {
            guard let text = known(field) else { return nil }
            let words = text.prefix(100).lowercased().split { $0.isWhitespace || $0 == "_" || $0 == "-" }
            return unstated.contains(words.joined(separator: " ")) ? nil : text
        }

        private static let unstated: Set<String> = [
            "", "?", "#n/a", "n.a.", "prefer not to say", "prefer not to answer", "not stated", "not specified",
            "not reported", "not known", "not available", "not applicable", "unspecified", "undisclosed", "missing",
            "keine angabe", "k.a.", "other", "diverse", "divers",
        ]

        /// Parses a decimal number only: no hexadecimal digits, no infinity, which `Double` would accept.
        private static func number(_ text: String, allowsDecimalComma: Bool) -> Double? {
            var text = text
            // As in DICOM: "045Y".
            if text.last?.lowercased() == "y" { text = text.dropLast().trimmingCharacters(in: .whitespaces) }
            let parts = text.split(separator: ",", omittingEmptySubsequences: false)
            if allowsDecimalComma, parts.count == 2, !text.contains(".") {
                // "1,045" may be a thousand and more; 0,083 is a month.
                guard parts[1].count != 3 || parts[0] == "0" else { return nil }
                text = text.replacingOccurrences(of: ",", with: ".")
            }
            guard text.utf8.allSatisfy({ "+-.0123456789eE".utf8.contains($0) }), let value = Double(text),
                value.isFinite
            else { return nil }
            return value
        }

        /// For messages. What may be a date or a number of a person, and what results must not contain, is not repeated.
        private static func shown(_ text: String) -> String {
            let digits = text.unicodeScalars.count { $0.properties.numericType != nil }
            guard digits < 5, ReportText.diagnosticClaim(in: text) == nil else {
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
}
