internal import GRDB
import NocturneSystem

/// A value with a table whose columns have the names of its coding keys.
protocol TableValue: Codable, Sendable {
    static var table: String { get }
}

/// A row of a table as a value, coded by GRDB.
///
/// The values themselves do not conform to GRDB's protocols: a public type can only do so where GRDB is imported publicly, and then
/// every module that uses the journal sees the database.
struct TableRow<Value: TableValue>: Codable, FetchableRecord, PersistableRecord {
    static var databaseTableName: String { Value.table }
    static var persistenceConflictPolicy: PersistenceConflictPolicy {
        PersistenceConflictPolicy(insert: .replace, update: .replace)
    }

    let value: Value

    init(_ value: Value) { self.value = value }
    init(from decoder: any Decoder) throws { value = try Value(from: decoder) }
    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

extension TableRow {
    /// The rows in some order.
    static func values(_ db: Database, sql: String) throws -> [Value] { try fetchAll(db, sql: sql).map(\.value) }
}

/// One of the values of an item, in its order.
struct ItemRow<Value: TableValue>: Codable, FetchableRecord, PersistableRecord {
    static var databaseTableName: String { Value.table }

    let item: Int64
    /// From 0.
    let number: Int
    let value: Value

    private enum CodingKeys: String, CodingKey { case item, number }

    init(item: Int64, number: Int, _ value: Value) { (self.item, self.number, self.value) = (item, number, value) }

    init(from decoder: any Decoder) throws {
        let columns = try decoder.container(keyedBy: CodingKeys.self)
        item = try columns.decode(Int64.self, forKey: .item)
        number = try columns.decode(Int.self, forKey: .number)
        value = try Value(from: decoder)
    }

    func encode(to encoder: any Encoder) throws {
        try value.encode(to: encoder)
        var columns = encoder.container(keyedBy: CodingKeys.self)
        try columns.encode(item, forKey: .item)
        try columns.encode(number, forKey: .number)
    }
}

extension LabelEdit: TableValue { static var table: String { "edit" } }
extension ReviewMark: TableValue { static var table: String { "mark" } }
extension Note: TableValue { static var table: String { "note" } }
extension ItemPart: TableValue { static var table: String { "part" } }
