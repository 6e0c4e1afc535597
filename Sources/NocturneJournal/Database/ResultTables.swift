import Foundation
internal import GRDB
import NocturneSystem

/// The tables of what the results of items hold: `resultFile`, `measure`, `note` and `part`, one row for each, in the item's order.
///
/// Files and measures are read and written with statements by the place of their columns: a result may have a thousand measures, and
/// a coded row takes ten times as long.
struct ResultTables {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// Which items are read.
    enum Items {
        case one(Int64)
        /// After the first, up to the second one.
        case range(after: Int64, through: Int64)
        case completed

        // The tables have the primary key (item, number) and no row id: the first two are searches in it.
        fileprivate var condition: String {
            switch self {
            case .one: "item = :first"
            case .range: "item > :first AND item <= :last"
            case .completed: "item IN (SELECT id FROM item WHERE state = 'completed')"
            }
        }

        fileprivate var arguments: StatementArguments {
            switch self {
            case .one(let id): ["first": id]
            case .range(let first, let last): ["first": first, "last": last]
            case .completed: []
            }
        }
    }

    // MARK: Writing

    /// Puts a product in the place of what an item has.
    /// - Throws: ``JournalError`` for a measure that is not finite.
    func write(_ product: ItemProduct, of item: Int64) throws {
        try remove(of: item)
        try write(product.files, of: item)
        let measure = try db.cachedStatement(
            sql: "INSERT INTO measure (item, number, label, measure, value, unit) VALUES (?, ?, ?, ?, ?, ?)"
        )
        for (number, row) in product.statistics.enumerated() {
            // SQLite would make NULL of NaN, which means "not measured".
            guard row.value?.isFinite ?? true else {
                throw JournalError(.failed, detail: "\(row.measure) of \(row.label) is not a finite number")
            }
            try measure.execute(arguments: [item, number, row.label, row.measure, row.value, row.unit])
        }
        for (number, note) in product.notes.enumerated() {
            try ItemRow(item: item, number: number, note).insert(db)
        }
        for (number, part) in product.parts.enumerated() {
            try ItemRow(item: item, number: number, part).insert(db)
        }
    }

    /// Puts files in the place of those that an item has.
    func write(_ files: [ItemFile], of item: Int64) throws {
        try run("DELETE FROM resultFile WHERE item = ?", [item])
        let file = try db.cachedStatement(
            sql: "INSERT INTO resultFile (item, number, path, bytes, sha256) VALUES (?, ?, ?, ?, ?)"
        )
        for (number, row) in files.enumerated() {
            try file.execute(arguments: [item, number, row.path, row.bytes, row.sha256])
        }
    }

    /// Removes what an earlier result of an item holds. Its files stay: they prove whose folder has the item's name.
    func remove(of item: Int64) throws {
        for table in ["measure", "note", "part"] { try run("DELETE FROM \(table) WHERE item = ?", [item]) }
    }

    private func run(_ sql: String, _ arguments: StatementArguments) throws {
        try db.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    // MARK: Reading

    /// What items have, by id; nothing for those that have nothing.
    func products(of items: Items) throws -> [Int64: ItemProduct] {
        var products: [Int64: ItemProduct] = [:]
        for (item, file) in try files(of: items) { products[item, default: ItemProduct()].files.append(file) }
        try forEachMeasure(of: items) { products[$0, default: ItemProduct()].statistics.append($1) }
        for row in try rows(Note.self, of: items) { products[row.item, default: ItemProduct()].notes.append(row.value) }
        for row in try rows(ItemPart.self, of: items) {
            products[row.item, default: ItemProduct()].parts.append(row.value)
        }
        return products
    }

    /// - Throws: ``JournalError`` for a path that leads out of the item's folder.
    func files(of items: Items) throws -> [(item: Int64, file: ItemFile)] {
        try fetch("item, path, bytes, sha256", of: "resultFile", items).map { row in
            let file = ItemFile(path: row[1], bytes: row[2], sha256: row[3])
            guard FileSystem.staysBelow(file.path) else { throw JournalError(damagedBy: file.path) }
            return (row[0], file)
        }
    }

    func forEachMeasure(of items: Items, _ body: (_ item: Int64, Statistic) -> Void) throws {
        let sql = select("item, label, measure, value, unit", of: "measure", items)
        let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: items.arguments)
        while let row = try rows.next() {
            body(row[0], Statistic(label: row[1], measure: row[2], value: row[3], unit: row[4]))
        }
    }

    func rows<Value: TableValue>(_ value: Value.Type, of items: Items) throws -> [ItemRow<Value>] {
        let sql = select("*", of: Value.table, items)
        return try ItemRow<Value>.fetchAll(db.cachedStatement(sql: sql), arguments: items.arguments)
    }

    private func fetch(_ columns: String, of table: String, _ items: Items) throws -> [Row] {
        try Row.fetchAll(db.cachedStatement(sql: select(columns, of: table, items)), arguments: items.arguments)
    }

    private func select(_ columns: String, of table: String, _ items: Items) -> String {
        "SELECT \(columns) FROM \(table) WHERE \(items.condition) ORDER BY item, number"
    }
}
