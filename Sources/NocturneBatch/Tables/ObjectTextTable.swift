public import NocturneJournal
import NocturneSystem

/// A table of titles and authors, as another tool or a person has filled it.
public struct ObjectTextTable: Sendable {
    package struct Row: Hashable, Sendable {
        package let item: String
        package let object: Int
        package let title: String?
        package let author: String?
    }

    package private(set) var rows: [Row] = []

    private static let largestFile = 64 << 20

    /// Reads a CSV file in UTF-8 with the columns `item`, `object`, `title` and `author` in any order, separated by commas,
    /// semicolons or tabs. Other columns are ignored, and so are rows with neither title nor author.
    /// - Throws: ``BatchError`` that names the file, the row and what is expected.
    public static func read(_ path: String) throws(BatchError) -> ObjectTextTable {
        let expected = "; expected item, object, title and author"
        return try NamedTable.read(path, limit: largestFile, called: "the table of titles", expected: expected) {
            bytes throws(NamedTable.Fault) in try ObjectTextTable(bytes)
        }
    }

    package init(_ bytes: [UInt8]) throws(NamedTable.Fault) {
        let table = try NamedTable(bytes, required: ["item", "object", "title", "author"])
        for row in table.rows {
            if let row = try Row(row) { rows.append(row) }
        }
    }
}

extension ObjectTextTable {
    /// The table of all objects of a batch, to be filled in: a header, then a line for each object.
    /// - Parameter parts: of completed items, by their ids.
    public static func lines(_ items: some Sequence<JournalItem>, _ parts: [Int64: [ItemPart]]) -> [String] {
        let header = "item,object,class,state,thumbnail,title,author"
        return [header]
            + items.flatMap { item in
                (parts[item.id] ?? []).map { part in
                    let thumbnail = part.thumbnail.map { "\(item.name)/\($0)" } ?? ""
                    let fields = [part.kind, part.state.rawValue, thumbnail, part.title ?? "", part.author ?? ""]
                    return ([item.name, "\(part.id)"] + fields).map(CSVField.text).joined(separator: ",")
                }
            }
    }
}

extension ObjectTextTable.Row {
    private static let longestText = 1000

    /// - Returns: nil for a row with neither title nor author.
    fileprivate init?(_ row: NamedTable.Row) throws(NamedTable.Fault) {
        (title, author) = (row["title"], row["author"])
        guard title != nil || author != nil else { return nil }
        func fault(_ detail: String) -> NamedTable.Fault { NamedTable.Fault(detail: "row \(row.number): \(detail)") }
        for text in [title, author].compactMap(\.self)
        where text.utf8.count > Self.longestText || text.unicodeScalars.contains(where: { $0.value < 32 }) {
            throw fault("a title or author has more than \(Self.longestText) bytes, or control characters")
        }
        guard let object = row["object"].flatMap(Int.init), object > 0 else {
            throw fault("object is \"\(row["object"] ?? "")\", not a number from 1")
        }
        self.object = object
        item = row["item"] ?? ""
    }
}

/// What taking over tables means for a batch: a pure decision.
public struct ObjectTextImport: Sendable {
    /// To be kept.
    public private(set) var texts: [ObjectText] = []
    /// Of rows, such as `shelf 12`, that the batch does not have.
    package private(set) var unknown: [String] = []
    private var waiting = 0

    /// - Parameter parts: of completed items, by their ids.
    public init(_ tables: [ObjectTextTable], items: some Sequence<JournalItem>, parts: [Int64: [ItemPart]]) {
        let known = items.named(Set(tables.flatMap(\.rows).map(\.item)))
        let objects = parts.mapValues { Set($0.map(\.id)) }
        for row in tables.flatMap(\.rows) {
            guard let item = known[row.item], objects[item.id]?.contains(row.object) ?? false else {
                unknown.append("\(row.item) \(row.object)")
                continue
            }
            texts.append(
                ObjectText(
                    item: item.name,
                    fingerprint: item.fingerprint,
                    object: row.object,
                    title: row.title,
                    author: row.author
                )
            )
        }
        let given = texts.current(for: items)
        waiting = parts.reduce(0) { count, own in
            count + own.value.count { $0.state == .enriching && given[own.key]?[$0.id] == nil }
        }
    }

    /// For a person, on one line.
    public var summary: String {
        var text = "\(texts.count) objects have a title or author from the tables; \(waiting) still wait for one."
        if let first = unknown.first {
            text += " Left out: \(unknown.count) rows about objects that this batch does not have, such as \(first)."
        }
        return text
    }
}
