package import NocturneOutput

/// Which subject each item shows, and when it was made: columns of a table of metadata.
package struct SubjectTable: Sendable {
    /// The table's row of one item.
    package struct Entry: Hashable, Sendable {
        /// Nil for an empty field, and for a table without such a column.
        package let subject: String?
        /// As in the table: ISO 8601, with or without hyphens.
        package let date: String?
    }

    private let entries: [String: Entry]

    // Names that common tables have, ISIC's among them; the first one that is there counts.
    private static let items = ["item", "image", "image_id", "isic_id", "file", "filename", "image_name", "name"]
    private static let subjects = ["subject", "subject_id", "patient", "patient_id", "lesion_id"]
    private static let dates = ["date", "acquisition_date", "study_date", "scan_date"]
    private static let largestFile = 256 << 20

    /// Reads a CSV file in UTF-8 with a column that names items or their files, and columns for the subject, the date or both.
    /// - Throws: ``BatchError`` that names the file and what is expected.
    package static func read(_ path: String) throws(BatchError) -> SubjectTable {
        try NamedTable.read(path, limit: largestFile, called: "the table of subjects") {
            bytes throws(NamedTable.Fault) in
            try SubjectTable(bytes)
        }
    }

    /// - Throws: `NamedTable.Fault` for missing columns, and for a date that is not one: a wrong order would not be noticed.
    package init(_ bytes: [UInt8]) throws(NamedTable.Fault) {
        let table = try NamedTable(bytes, required: [])
        func first(_ names: [String]) -> String? { names.first(where: table.columns.contains) }
        guard let item = first(Self.items) else {
            throw NamedTable.Fault(
                detail: "has no column with the items. Call it one of \(Self.items.joined(separator: ", "))"
            )
        }
        let (subject, date) = (first(Self.subjects), first(Self.dates))
        // A table with the items alone would change nothing in the history.
        guard subject != nil || date != nil else {
            let names = (Self.subjects + Self.dates).joined(separator: ", ")
            throw NamedTable.Fault(detail: "has no column with subjects or dates. Call it one of \(names)")
        }
        var entries: [String: Entry] = [:]
        for row in table.rows {
            guard let name = row[item] else { continue }
            let day = date.flatMap { row[$0] }
            // Dates are compared by their digits: another form would be sorted wrongly without a sign of it.
            guard day.map(Self.isDate) ?? true else {
                throw NamedTable.Fault(
                    row: row.number,
                    detail: "the date is \"\(day ?? "")\". Write dates like 2026-03-01 or 20260301"
                )
            }
            entries[name] = Entry(subject: subject.flatMap { row[$0] }, date: day)
        }
        self.entries = entries
    }

    /// Whether a text begins with eight digits, with or without hyphens; a time may follow.
    private static func isDate(_ text: String) -> Bool {
        let digits = text.prefix(10).filter { $0 != "-" }.prefix(8)
        return digits.count == 8 && digits.allSatisfy { $0.isASCII && $0.isNumber }
    }

    /// The entry of an item, found by its name, the file name of its input, or one of them without its extension.
    package func entry(item: String, path: String) -> Entry? {
        let file = path.split(separator: "/").last.map(String.init) ?? path
        let stem = file.firstIndex(of: ".").map { String(file[..<$0]) } ?? file
        return [item, file, stem].lazy.compactMap { entries[$0] }.first
    }
}
