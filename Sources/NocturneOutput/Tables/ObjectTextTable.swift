public import NocturneJournal
import NocturneSystem

/// A table of what is written on objects, as another tool or a person has filled it.
public struct ObjectTextTable: Sendable {
    /// What one row has for an object.
    package struct Row: Hashable, Sendable {
        /// The name of the item.
        package let item: String
        /// The number of the object in its item, from 1.
        package let object: Int
        /// None for an object that is to have no texts.
        package let fields: [ObjectText.Field]
        /// The item and the object, such as `shelf 12`.
        fileprivate var place: String { "\(item) \(object)" }
    }

    /// In the order of the table.
    package private(set) var rows: [Row] = []

    /// In place of a text: the object is to have none.
    private static let removal = "-"
    private static let largestFile = 64 << 20
    private static let longestText = 1000

    /// Reads a CSV file with the columns `item`, `object` and those of the fields in any order, separated by commas,
    /// semicolons or tabs. Other columns are ignored, and so are rows without any field: they are about what is not known yet. A
    /// hyphen alone stands for no text.
    /// - Parameter fields: those that the recipes name.
    /// - Throws: ``BatchError`` that names the file, the row and what is expected.
    public static func read(_ path: String, fields: [String]) throws(BatchError) -> ObjectTextTable {
        let expected = ". It needs the columns \((["item", "object"] + fields).joined(separator: ", "))"
        return try NamedTable.read(path, limit: largestFile, called: "the table of objects", expected: expected) {
            bytes throws(NamedTable.Fault) in try ObjectTextTable(bytes, fields: fields)
        }
    }

    /// - Parameters:
    ///   - bytes: a table.
    ///   - fields: those that the recipes name; each is a required column.
    /// - Throws: ``NamedTable/Fault``, also for an object that is not a number from 1, for texts of more than 1,000 bytes, and for
    ///   two rows with other texts of one object.
    package init(_ bytes: [UInt8], fields: [String]) throws(NamedTable.Fault) {
        let table = try NamedTable(bytes, required: ["item", "object"] + fields)
        var first: [String: (number: Int, row: Row)] = [:]
        for line in table.rows {
            let known = fields.compactMap { name in line[name].map { ObjectText.Field(name: name, value: $0) } }
            guard !known.isEmpty else { continue }
            let row = try Self.checked(line, known.filter { $0.value != Self.removal })
            guard let earlier = first.updateValue((line.number, row), forKey: row.place) else {
                rows.append(row)
                continue
            }
            guard earlier.row == row else {
                let detail =
                    "object \(row.object) of \"\(row.item)\" has other texts in row \(earlier.number). Keep one of these rows"
                throw NamedTable.Fault(row: line.number, detail: detail)
            }
        }
    }

    private static func checked(_ row: NamedTable.Row, _ fields: [ObjectText.Field]) throws(NamedTable.Fault) -> Row {
        func fault(_ detail: String) -> NamedTable.Fault { NamedTable.Fault(row: row.number, detail: detail) }
        for field in fields {
            guard field.value.utf8.count <= longestText else {
                throw fault("the \(field.name) has more than \(longestText) bytes. Shorten it")
            }
            guard !field.value.unicodeScalars.contains(where: { $0.value < 32 }) else {
                throw fault("the \(field.name) has a control character, such as a line feed. Remove it")
            }
        }
        guard let object = row["object"].flatMap(Int.init), object > 0 else {
            throw fault("object is \"\(row["object"] ?? "")\", not a number from 1")
        }
        return Row(item: row["item"] ?? "", object: object, fields: fields)
    }

    /// The table of all objects of a batch, to be filled in: a header, then a line for each object. The text that a model has
    /// read is in a column before those to fill in.
    /// - Parameters:
    ///   - parts: of completed items, by their ids.
    ///   - fields: the columns to fill in.
    public static func lines(
        _ items: some Sequence<JournalItem>,
        _ parts: [Int64: [ItemPart]],
        fields: [String]
    ) -> [String] {
        let columns = [ObjectText.recognized] + fields
        let header = (["item", "object", "class", "state", "thumbnail"] + columns).joined(separator: ",")
        return [header]
            + items.flatMap { item in
                (parts[item.id] ?? []).map { part in
                    let thumbnail = part.thumbnail.map { "\(item.name)/\($0)" } ?? ""
                    let known = part.texts ?? []
                    let values = columns.map { name in known.first { $0.name == name }?.value ?? "" }
                    return ([item.name, "\(part.id)", part.kind, part.state.rawValue, thumbnail] + values)
                        .map(CSVField.text).joined(separator: ",")
                }
            }
    }
}

extension ObjectTextTable {
    /// A row for each object whose text is certainly a known title, with the `score` as a field; not for objects that have more
    /// than the text that a model has read.
    /// - Parameter parts: of completed items, by their ids.
    public init(_ titles: KnownTitles, items: some Sequence<JournalItem>, parts: [Int64: [ItemPart]]) {
        rows = items.flatMap { item in
            (parts[item.id] ?? []).compactMap { part in
                guard let text = part.texts?.first, part.texts?.count == 1, text.name == ObjectText.recognized,
                    let match = titles.match(text.value)
                else { return nil }
                let score = ObjectText.Field(name: "score", value: "\((match.score * 100).rounded(.down) / 100)")
                return Row(item: item.name, object: part.id, fields: match.fields + [score])
            }
        }
    }
}

extension ObjectTextTable {
    /// What taking over tables means for a batch: a pure decision.
    public struct Import: Sendable {
        /// To be kept.
        public private(set) var texts: [ObjectText] = []
        /// Of rows, such as `shelf 12`, that the batch does not have.
        package private(set) var unknown: [String] = []
        private var objects = 0
        private var removed = 0

        /// - Parameter parts: of completed items, by their ids.
        public init(_ tables: [ObjectTextTable], items: some Sequence<JournalItem>, parts: [Int64: [ItemPart]]) {
            let known = items.named(Set(tables.flatMap(\.rows).map(\.item)))
            let numbers = parts.mapValues { Set($0.map(\.id)) }
            for row in tables.flatMap(\.rows) {
                guard let item = known[row.item], numbers[item.id]?.contains(row.object) ?? false else {
                    unknown.append(row.place)
                    continue
                }
                texts.append(
                    ObjectText(item: item.name, fingerprint: item.fingerprint, object: row.object, fields: row.fields)
                )
            }
            let given = texts.current(for: items)
            // Of several tables with one object the last one counts.
            removed = given.values.reduce(0) { $0 + $1.values.count(where: \.fields.isEmpty) }
            objects = given.values.reduce(-removed) { $0 + $1.count }
        }

        /// For a person, on one line.
        /// - Parameter parts: of completed items, by their ids, once the texts are kept: an object that lost its texts waits again.
        public func summary(_ parts: [Int64: [ItemPart]]) -> String {
            let waiting = parts.values.joined().count { $0.state == .enriching }
            var text =
                "\(counted(objects, "object")) \(objects == 1 ? "has" : "have") texts from the tables; \(waiting) still "
                + "\(waiting == 1 ? "waits" : "wait") for them."
            if removed > 0 { text += " Those of \(counted(removed, "object")) were removed." }
            if let first = unknown.first {
                text +=
                    " Left out: \(counted(unknown.count, "row")) about objects that this batch does not have, such as \(first)."
            }
            return EventText.oneLine(text)
        }
    }
}
