internal import GRDB
import NocturneSystem

/// Label maps that were edited by a person.
extension Journal {
    /// Keeps an edit in place of an earlier one of the same item.
    public func keep(_ edit: LabelEdit) throws(JournalError) {
        try change(.journalRecord) { db in
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO edit (item, base, file, sha256, time)
                    VALUES (:item, :base, :file, :sha256, :time)
                    """,
                arguments: [
                    "item": edit.item, "base": edit.baseFingerprint, "file": edit.file, "sha256": edit.sha256,
                    "time": edit.time,
                ]
            )
        }
    }

    /// Forgets the edit of an item.
    public func removeEdit(of item: String) throws(JournalError) {
        try change(.journalRecord) { db in
            try db.execute(sql: "DELETE FROM edit WHERE item = :item", arguments: ["item": item])
        }
    }

    /// All edits, by the names of the items.
    public func edits() throws(JournalError) -> [String: LabelEdit] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM edit").reduce(into: [:]) { edits, row in
                let item: String = row["item"]
                guard RelativePath.isName(item) else { throw JournalError(damagedBy: item) }
                edits[item] = LabelEdit(
                    item: item,
                    baseFingerprint: row["base"],
                    file: row["file"],
                    sha256: row["sha256"],
                    time: row["time"]
                )
            }
        }
    }
}
