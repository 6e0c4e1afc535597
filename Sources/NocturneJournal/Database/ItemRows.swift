import Foundation
internal import GRDB
import NocturneSystem

// Rows of the tables `item` and `input` as values, and back.

extension JournalItem {
    /// What the initialiser from a row reads, in its order.
    static let columns = """
        item.id, item.key, item.name, item.path, item.fingerprint, item.state, item.reason, item.code, item.stage, \
        item.crashes, item.changed, item.model, item.words
        """

    /// - Parameters:
    ///   - row: with ``columns``.
    ///   - first: the index of the first of them.
    init(_ row: Row, from first: Int = 0) throws {
        let name: String = row[first + 2]
        // Folders of this name are replaced and removed.
        guard FileSystem.isName(name) else { throw JournalError(damagedBy: name) }
        self.init(
            id: row[first],
            key: row[first + 1],
            name: name,
            path: row[first + 3],
            fingerprint: row[first + 4],
            // An unknown state, as a damaged row may have, is processed again rather than believed.
            state: ItemState(rawValue: row[first + 5]) ?? .pending
        )
        reason = ItemReason(row[first + 6], code: row[first + 7], stage: row[first + 8])
        (crashes, changed, model) = (row[first + 9], row[first + 10], row[first + 11])
        words = String.words(row[first + 12])
    }
}

extension JournalEntry {
    /// - Parameter row: with the columns of ``JournalItem``, source and recipe.
    init(_ row: Row, _ db: Database) throws {
        let known = try JournalItem(row)
        var item = DiscoveredItem(
            key: known.key,
            name: known.name,
            model: known.model,
            path: known.path,
            fingerprint: try ContentDigest(recorded: known.fingerprint),
            inputs: try InputStamp.fetch(of: known.id, at: known.path, db)
        )
        (item.words, item.source, item.recipe) = (known.words, row[13], row[14])
        self.init(item, name: known.name, state: known.state, reason: known.reason, crashes: known.crashes)
    }
}

extension ItemReason {
    /// - Parameter sentence: as ``Sentence/column`` gives it.
    /// - Returns: nil unless there are a sentence and a code.
    init?(_ sentence: String?, code: String?, stage: String?) {
        guard let sentence, let code else { return nil }
        self.init(FaultCode(rawValue: code), Sentence(column: sentence), stage: stage)
    }
}

extension Sentence {
    /// In a column: the text of a sentence without values, else an object in JSON. There may be a million of the former.
    var column: String {
        // A text that begins with "{" is encoded, too: otherwise it would be read as JSON.
        if values.isEmpty, !words[0].hasPrefix("{") { return words[0] }
        return (try? StableJSON.text(self)) ?? description
    }

    /// Anything that is not a sentence in JSON is shown as it is.
    init(column: String) {
        let decoded = column.hasPrefix("{") ? try? JSONDecoder().decode(Sentence.self, from: Data(column.utf8)) : nil
        self = decoded ?? Sentence(shown: column)
    }
}

extension LabelEdit {
    /// - Parameters:
    ///   - row: with baseFingerprint, file, sha256 and time.
    ///   - first: the index of the first of them.
    /// - Returns: nil for an item without an edit.
    init?(_ row: Row, of item: String, from first: Int) {
        guard let file: String = row[first + 1] else { return nil }
        self.init(
            item: item,
            baseFingerprint: row[first],
            file: file,
            sha256: row[first + 2],
            time: row[first + 3]
        )
    }
}

extension ContentDigest {
    /// - Throws: ``JournalError`` for a text that is not a digest.
    init(recorded text: String) throws(JournalError) {
        guard let digest = ContentDigest(hex: text) else { throw JournalError(damagedBy: text) }
        self = digest
    }
}

extension String {
    /// Words as the tables have them.
    static func words(_ text: String) -> [String] { text.isEmpty ? [] : text.split(separator: " ").map(String.init) }
}

extension InputStamp {
    /// - Parameters:
    ///   - base: the item's path: that of a file is recorded relative to it, since a series has hundreds.
    ///   - statement: with seven parameters: the item, the number, and the columns of a stamp.
    static func insert(_ inputs: [InputStamp], of item: Int64, at base: String, _ statement: Statement) throws {
        for (number, input) in inputs.enumerated() {
            let state = input.state
            let isBelow = input.path.utf8.starts(with: (base + "/").utf8)
            let path =
                input.path.utf8.elementsEqual(base.utf8)
                ? ""
                : isBelow
                    ? below + String(decoding: input.path.utf8.dropFirst(base.utf8.count + 1), as: UTF8.self)
                    : input.path
            try statement.execute(arguments: [
                item, number, path, state?.size, state?.seconds, state?.nanoseconds, input.touchedSeconds,
            ])
        }
    }

    /// The source files of an item of the journal, or of a found one.
    static func fetch(
        of item: Int64,
        at base: String,
        isFound: Bool = false,
        _ db: Database
    ) throws -> [InputStamp] {
        let (table, column) = isFound ? ("foundInput", "found") : ("input", "item")
        let sql = "SELECT path, size, seconds, nanoseconds, touched FROM \(table) WHERE \(column) = ? ORDER BY number"
        return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [item]).map { InputStamp($0, at: base) }
    }

    /// What a path relative to that of the item begins with.
    private static let below = "./"

    /// - Parameters:
    ///   - row: path, size, seconds, nanoseconds, touched.
    ///   - base: the item's path.
    private init(_ row: Row, at base: String) {
        var state: FileState?
        if let size: Int = row[1], let seconds: Int = row[2], let nanoseconds: Int = row[3] {
            state = FileState(size: size, seconds: seconds, nanoseconds: nanoseconds)
        }
        self.init(path: Self.path(row[0], at: base), state: state, touchedSeconds: row[4])
    }

    /// The path of a source file as it is recorded, from that of its item.
    static func path(_ recorded: String, at base: String) -> String {
        recorded.isEmpty ? base : recorded.hasPrefix(below) ? base + "/" + recorded.dropFirst(2) : recorded
    }
}

/// Writes rows of items, with statements that are prepared once.
struct ItemWriter {
    private let find: Statement
    private let insert: Statement
    private let update: Statement
    private let removeInputs: Statement
    private let insertInput: Statement
    private let db: Database

    init(_ db: Database) throws {
        self.db = db
        find = try db.cachedStatement(sql: "SELECT id FROM item WHERE key = ?")
        insert = try db.cachedStatement(
            sql: """
                INSERT INTO item (key, recipe, model, source, path, fingerprint, words, state, reason, code, stage, crashes,
                    name, foldedName)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        )
        update = try db.cachedStatement(
            sql: """
                UPDATE item SET key = ?, recipe = ?, model = ?, source = ?, path = ?, fingerprint = ?, words = ?, state = ?,
                    reason = ?, code = ?, stage = ?, crashes = ?
                WHERE id = ?
                """
        )
        removeInputs = try db.cachedStatement(sql: "DELETE FROM input WHERE item = ?")
        insertInput = try db.cachedStatement(
            sql: """
                INSERT INTO input (item, number, path, size, seconds, nanoseconds, touched) VALUES (?, ?, ?, ?, ?, ?, ?)
                """
        )
    }

    /// A series has hundreds of files: SQLite copies their rows several times as fast as it takes them from Swift.
    private static let copyOfInputs = """
        INSERT INTO input (item, number, path, size, seconds, nanoseconds, touched)
        SELECT ?, p.number, p.path, p.size, p.seconds, p.nanoseconds, p.touched
        FROM work w JOIN foundInput p ON p.found = w.found WHERE w.place = ? ORDER BY p.number
        """

    /// Adds an item that is new, or brings one that changed up to date; its name stays. Source files are kept of items that are
    /// to be processed, and of those whose results are there.
    /// - Parameter place: in the order of discovery, of a found item whose source files are copied from the table; nil for those of
    ///   the entry.
    func write(_ entry: JournalEntry, foundAt place: Int64? = nil) throws {
        let (item, reason) = (entry.item, entry.reason)
        let key = JournalSchema.canonical(item.key)
        let values: [(any DatabaseValueConvertible)?] = [
            key, item.recipe, item.model, item.source, item.path, item.fingerprint.hex,
            item.words.joined(separator: " "), entry.state.rawValue, reason?.sentence.column, reason?.code.rawValue,
            reason?.stage,
            entry.crashes,
        ]
        let id: Int64
        // By the key alone: the name, and with it the folder, stays with the item.
        if let known = try Int64.fetchOne(find, arguments: [key]) {
            id = known
            try update.execute(arguments: StatementArguments(values + [id]))
            try removeInputs.execute(arguments: [id])
            try ResultTables(db).remove(of: id)
        } else {
            try insert.execute(arguments: StatementArguments(values + [entry.name, JournalSchema.fold(entry.name)]))
            id = db.lastInsertedRowID
        }
        guard [.pending, .completed].contains(entry.state) else { return }
        if let place {
            try db.cachedStatement(sql: Self.copyOfInputs).execute(arguments: [id, place])
        } else {
            try InputStamp.insert(item.inputs, of: id, at: item.path, insertInput)
        }
    }
}
