internal import GRDB
import NocturneSystem

extension Journal {
    /// Removes items with their marks, edits and texts, and overwrites the space that they took in the file.
    public func remove(_ items: [JournalItem]) throws(JournalError) {
        try change(.journalRecord) { db in
            try Journal.markReportOld(db)
            for item in items {
                try db.execute(sql: "DELETE FROM item WHERE id = ?", arguments: [item.id])
                try db.execute(sql: "DELETE FROM mark WHERE item = ?", arguments: [item.name])
                try db.execute(sql: "DELETE FROM edit WHERE item = ?", arguments: [item.name])
                try db.execute(sql: "DELETE FROM text WHERE item = ?", arguments: [item.name])
            }
        }
        try rewriteFile()
    }
}
