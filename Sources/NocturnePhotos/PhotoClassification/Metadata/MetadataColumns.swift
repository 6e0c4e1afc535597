import Foundation
import NocturneOutput
import NocturneSystem

extension MetadataTable {
    /// The columns of a table of metadata: which of them name the picture, the age, the sex and the site.
    struct Columns: Sendable {
        enum Meaning: String, CaseIterable, Sendable {
            case image, age, sex, site

            /// The names that are understood, in the order of `NamedTable.inputColumns`. Only letters and digits matter.
            var names: [String] {
                switch self {
                case .image: NamedTable.inputColumns
                case .age: ["age_approx", "age", "age_years", "patient_age", "alter"]
                case .sex: ["sex", "gender", "patient_sex", "geschlecht"]
                case .site:
                    [
                        "anatom_site_general", "anatom_site_general_challenge", "localization", "localisation",
                        "anatom_site",
                        "anatomical_site", "anatomic_site", "body_site", "location", "region", "site", "lokalisation",
                        "körperregion", "körperstelle",
                    ]
                }
            }

            /// For messages.
            var title: String {
                switch self {
                case .image: "the picture"
                case .age: "the age"
                case .sex: "the sex"
                case .site: "the site on the body"
                }
            }
        }

        /// Why a first row is not used.
        enum Fault: Error, Hashable, Sendable {
            case noPicture
            /// The pictures have a column, but nothing about the person has.
            case noFacts
            /// Two columns have this name, which is understood.
            case duplicate(String)
        }

        /// As written, without spaces around.
        let names: [String]
        private let indices: [Meaning: Int]

        init(_ header: [String]) throws(Fault) {
            let names = header.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
            let simple = names.map(NamedTable.simplified)
            var indices: [Meaning: Int] = [:]
            for meaning in Meaning.allCases {
                for name in meaning.names where indices[meaning] == nil {
                    var found = simple.indices.filter { simple[$0] == NamedTable.simplified(name) }
                    // Of "age_approx" and "Age approx", the one that is spelled as published.
                    let exact = found.filter { names[$0].lowercased() == name }
                    if !exact.isEmpty { found = exact }
                    guard found.count < 2 else { throw .duplicate(names[found[0]]) }
                    indices[meaning] = found.first
                }
            }
            guard indices[.image] != nil else { throw .noPicture }
            guard indices.count > 1 else { throw .noFacts }
            self.names = names
            self.indices = indices
        }

        /// The index of the column with this meaning; nil if there is none.
        subscript(_ meaning: Meaning) -> Int? { indices[meaning] }

        /// The column's name as written, else the one that ISIC uses.
        func name(of meaning: Meaning) -> String {
            indices[meaning].map { Self.shown(names[$0]) } ?? meaning.names[0]
        }

        /// One note for each missing column, if there are columns that are not used: one of them may have been meant. And one for each
        /// meaning of which another column is not used.
        var notes: [String] {
            let used = Set(indices.values)
            let others = names.indices.filter { !used.contains($0) && !names[$0].isEmpty }.map { names[$0] }
            guard !others.isEmpty else { return [] }
            return Meaning.allCases.compactMap { meaning in
                guard let index = indices[meaning] else {
                    return "no column with \(meaning.title) was found. Rename the column to one of: "
                        + "\(meaning.names.joined(separator: ", ")). Columns that are not used: \(Self.list(others))"
                }
                let known = meaning.names.map(NamedTable.simplified)
                let alike = others.filter { known.contains(NamedTable.simplified($0)) }
                return alike.isEmpty
                    ? nil
                    : "the column with \(meaning.title) is \(Self.list([names[index]])). Merge the columns if the values that are not "
                        + "used are needed: \(Self.list(alike))"
            }
        }

        /// Names for messages: the first twenty, without control characters.
        static func list(_ names: [String]) -> String {
            listed(names.map { "\"\(Self.shown($0))\"" }, most: 20)
        }

        private static func shown(_ name: String) -> String {
            String(String.UnicodeScalarView(name.unicodeScalars.prefix(40).map { $0.value < 32 ? " " : $0 }))
        }
    }
}

extension MetadataTable.Columns {
    /// In this order: a table that is understood with commas is one.
    private static let separators = [",", ";", "\t"].flatMap(\.utf8)

    /// The columns that the first row of a table names, and the separator with which it was understood.
    /// - Parameters:
    ///   - text: the table in UTF-8.
    ///   - path: names the table in errors.
    /// - Throws: `BatchError` where no separator gives a column of pictures.
    static func read(_ text: [UInt8], path: String) throws(BatchError) -> (
        columns: MetadataTable.Columns, separator: UInt8
    ) {
        func fault(_ detail: String) -> BatchError { BatchError(.inputMissing, path: path, detail: detail) }
        var found: [String] = []
        var unreadable: DelimitedText.Fault?
        for separator in separators {
            var first: [String] = []
            do throws(DelimitedText.Fault) {
                first = try DelimitedText.firstRow(text, separator: separator)
            } catch {
                unreadable = unreadable ?? error
                continue
            }
            do throws(Fault) {
                return (try MetadataTable.Columns(first), separator)
            } catch {
                switch error {
                case .duplicate(let name): throw fault("the first row of the metadata names \(list([name])) twice")
                case .noFacts: throw fault(noFacts(first))
                case .noPicture: if first.count > found.count { found = first }
                }
            }
        }
        if found.isEmpty, let unreadable { throw fault("the metadata is not CSV: \(unreadable)") }
        throw fault(noPicture(found, hasNUL: text.contains(0)))
    }

    private static func noFacts(_ found: [String]) -> String {
        let names = Meaning.allCases.filter { $0 != .image }.map { $0.names[0] }
        return
            "no column has the age, the sex or the site (columns: \(list(found))). Name them \(names.joined(separator: ", "))"
    }

    private static func noPicture(_ found: [String], hasNUL: Bool) -> String {
        if found.isEmpty { return "the table is empty. Check the file" }
        if hasNUL { return "the metadata is not a text file. Save the table as CSV in UTF-8" }
        let first = Meaning.image.names.prefix(4)
        let names = first.dropLast().joined(separator: ", ") + " or " + (first.last ?? "")
        return "no column names the photos (columns: \(list(found))). Add a column \(names)"
    }
}
