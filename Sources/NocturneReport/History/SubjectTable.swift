package import NocturneJournal
package import NocturneOutput
import NocturneSystem

/// Which subject each item shows, and when it was made: columns of a table of metadata.
package struct SubjectTable: Sendable {
    /// The table's row of one item.
    package struct Entry: Hashable, Sendable {
        /// Nil for an empty field, and for a table without such a column.
        package let patient: String?
        /// As ``patient``.
        package let lesion: String?
        /// What is followed over time: the patient, or in a table with a column of lesions the lesion, as `PATIENT/LESION` where both
        /// are known.
        package let subject: String?
        /// As in the table: ISO 8601, with or without hyphens.
        package let date: String?

        /// Whether a user who gives this name means the entry: by its patient, its lesion, or both.
        package func isOf(_ name: String) -> Bool { subject == name || patient == name || lesion == name }
    }

    /// What the subjects are where the table has columns of patients and of lesions; else nil.
    package let note: String?

    /// By the names in the table, with the number of the first row that has the name.
    private let rows: [String: (number: Int, entry: Entry)]

    // Names that common tables have, ISIC's among them; the first one that is there counts.
    private static let items = ["item"] + NamedTable.inputColumns.filter { $0 != "item" }
    private static let patients = ["subject", "subject_id", "patient", "patient_id"]
    private static let lesions = ["lesion", "lesion_id"]
    private static let dates = ["date", "acquisition_date", "study_date", "scan_date"]
    private static let largestFile = 256 << 20

    /// Reads a CSV file with a column that names items or their files, and columns for the subject, the date or both.
    /// - Throws: ``BatchError`` that names the file and what is expected.
    package static func read(_ path: String) throws(BatchError) -> SubjectTable {
        try NamedTable.read(path, limit: largestFile, called: "the table of subjects") {
            bytes throws(NamedTable.Fault) in
            try SubjectTable(bytes)
        }
    }

    /// - Throws: `NamedTable.Fault` for missing columns, for two rows that contradict each other, and for a date that is not one: a
    ///   wrong order would not be noticed.
    package init(_ bytes: [UInt8]) throws(NamedTable.Fault) {
        let table = try NamedTable(bytes, required: [])
        func first(_ names: [String]) -> String? {
            names.map(NamedTable.simplified).lazy.compactMap { name in
                table.columns.first { NamedTable.simplified($0) == name }
            }.first
        }
        guard let item = first(Self.items) else {
            let names = Self.items.joined(separator: ", ")
            throw NamedTable.Fault(detail: "has no column with the items. Call it one of \(names)")
        }
        let (patient, lesion, date) = (first(Self.patients), first(Self.lesions), first(Self.dates))
        // A table with the items alone would change nothing in the history.
        guard patient != nil || lesion != nil || date != nil else {
            let names = (Self.patients + Self.lesions + Self.dates).joined(separator: ", ")
            throw NamedTable.Fault(detail: "has no column with subjects or dates. Call it one of \(names)")
        }
        var rows: [String: (number: Int, entry: Entry)] = [:]
        for row in table.rows {
            guard let name = row[item].map(NamedTable.inputName) else { continue }
            let day = date.flatMap { row[$0] }
            // Dates are compared by their digits: another form would be sorted wrongly without a sign of it.
            guard day.map(Self.isDate) ?? true else {
                throw NamedTable.Fault(
                    row: row.number,
                    detail: "\"\(day ?? "")\" is not a date. Write year, month and day like 2026-03-01 or 20260301"
                )
            }
            let (person, part) = (patient.flatMap { row[$0] }, lesion.flatMap { row[$0] })
            // Lesions of two patients may have one name, and what is of an unknown lesion is not compared with other lesions.
            let subject = lesion == nil ? person : part.map { [person, $0].compactMap(\.self).joined(separator: "/") }
            let entry = Entry(patient: person, lesion: part, subject: subject, date: day)
            let first = rows[name] ?? (row.number, entry)
            guard first.entry.patient == person, first.entry.lesion == part,
                first.entry.date.map(Self.digits) == day.map(Self.digits)
            else {
                throw NamedTable.Fault(
                    row: row.number,
                    detail: "\"\(name)\" has another subject or date in row \(first.number). Keep one of these rows"
                )
            }
            rows[name] = first
        }
        self.rows = rows
        note = patient.flatMap { patient in
            lesion.map { lesion in
                "The table of subjects has columns \(patient) and \(lesion): each lesion is followed as PATIENT/LESION."
            }
        }
    }

    private static func digits(_ date: String) -> String { String(date.prefix(10).filter { $0 != "-" }.prefix(8)) }

    /// Whether a text begins with a day of the calendar in eight digits, with or without hyphens; a time may follow.
    private static func isDate(_ text: String) -> Bool {
        let digits = digits(text)
        guard digits.count == 8, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let year = Int(digits.prefix(4)),
            let month = Int(digits.dropFirst(4).prefix(2)), let day = Int(digits.suffix(2))
        else { return false }
        let isLeapYear = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
        let days = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return (1...12).contains(month) && (1...days[month - 1]).contains(day)
    }

    /// - Parameter path: of the table, for the message.
    /// - Throws: ``BatchError`` for a table that names none of these items.
    package func checkMatches(_ items: [JournalItem], path: String) throws(BatchError) {
        guard let item = items.first, !items.contains(where: { entry(item: $0.name, path: $0.path) != nil })
        else { return }
        let first = rows.min { $0.value.number < $1.value.number }
        let name = EventText.oneLine(first?.key ?? "")
        let named = first.map { "Row \($0.value.number) names \"\(name)\"" } ?? "It has no row with an item"
        throw BatchError(
            .inputMissing,
            path: path,
            detail: "the table of subjects names no item of the batch. \(named), the first item is \"\(item.name)\". "
                + "Check that it belongs to these items; \(NamedTable.inputNameAdvice)"
        )
    }

    /// - Parameters:
    ///   - name: a patient, a lesion, or both as ``Entry/subject`` has them.
    ///   - path: of the table, for the message.
    /// - Throws: ``BatchError`` for a name that is not one patient or one lesion alone: it may not be the one that is meant.
    package func checkSubject(_ name: String, path: String) throws(BatchError) {
        let entries = rows.values.filter { $0.entry.isOf(name) }.map(\.entry)
        // An unknown patient may be any. Patient 7 may have a lesion 7 among others.
        guard Set(entries.map { [$0.patient, $0.lesion == name ? name : nil] }).count > 1 else { return }
        let names = Set(entries.compactMap(\.subject)).subtracting([name]).sorted()
        let step = entries.contains { $0.patient == nil } ? "Write the patient in each row, and give" : "Give"
        throw BatchError(
            .inputMissing,
            path: path,
            detail: "\"\(name)\" is not one patient or one lesion alone in the table of subjects. "
                + "\(step) patient and lesion"
                + (names.isEmpty ? "" : ", one of: \(listed(names, most: 4))")
        )
    }

    /// How many rows name none of these items, as a sentence; nil where all rows name one.
    package func unmatchedText(_ items: [JournalItem]) -> String? {
        var unmatched = rows
        for item in items {
            for name in NamedTable.inputNames(of: item.path, item: item.name) { unmatched[name] = nil }
        }
        guard let first = unmatched.min(by: { $0.value.number < $1.value.number }) else { return nil }
        let verb = unmatched.count == 1 ? "names" : "name"
        return "\(counted(unmatched.count, "row")) of the table of subjects \(verb) no item of these batches, "
            + "such as row \(first.value.number): \"\(EventText.oneLine(first.key))\"."
    }

    /// How many rows mean inputs in several folders, as a sentence with what to write instead; nil where there are none. A skipped file
    /// in the folder of an item with its name, such as the sidecar of an image, does not count.
    package func ambiguousText(_ items: [JournalItem]) -> String? {
        func place(_ name: String, _ item: JournalItem) -> [String] { [name, FileSystem.parent(of: item.path)] }
        let uses = items.compactMap { item in name(item: item.name, path: item.path).map { (name: $0, item: item) } }
        let places = Set(uses.filter { $0.item.state != .skipped }.map { place($0.name, $0.item) })
        let ambiguous = NamedTable.ambiguousNames(
            uses.filter { $0.item.state != .skipped || !places.contains(place($0.name, $0.item)) }
                .map { (name: $0.name, path: $0.item.path) }
        )
        let numbers = ambiguous.compactMap { name, ends in rows[name].map { (row: $0.number, name: name, ends: ends) } }
        guard let first = numbers.min(by: { $0.row < $1.row }) else { return nil }
        return "\(counted(ambiguous.count, "row")) of the table of subjects \(ambiguous.count == 1 ? "means" : "mean") "
            + "several inputs, such as row \(first.row): \"\(EventText.oneLine(first.name))\". Write the end of the path: "
            + "\(first.ends)."
    }

    /// The entry of an item, of the most specific name that the table has for it.
    package func entry(item: String, path: String) -> Entry? {
        name(item: item, path: path).flatMap { rows[$0]?.entry }
    }

    private func name(item: String, path: String) -> String? {
        NamedTable.inputNames(of: path, item: item).first { rows[$0] != nil }
    }
}
