internal import GRDB
import NocturneSystem

/// Titles and authors of objects.
extension Journal {
    /// Adds texts, or replaces those that the same objects had before, in one transaction.
    public func keep(_ texts: [ObjectText]) throws(JournalError) {
        guard !texts.isEmpty else { return }
        try change(.journalRecord) { db in
            try Journal.markReportOld(db)
            let insert = try db.makeStatement(
                sql: """
                    INSERT OR REPLACE INTO text (item, object, fingerprint, title, author)
                    VALUES (:item, :object, :fingerprint, :title, :author)
                    """
            )
            for text in texts {
                try insert.execute(arguments: [
                    "item": text.item, "object": text.object, "fingerprint": text.fingerprint, "title": text.title,
                    "author": text.author,
                ])
            }
        }
    }

    /// All texts, in the order of item and object.
    public func texts() throws(JournalError) -> [ObjectText] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM text ORDER BY item, object").map { row in
                ObjectText(
                    item: row["item"],
                    fingerprint: row["fingerprint"],
                    object: row["object"],
                    title: row["title"],
                    author: row["author"]
                )
            }
        }
    }
}
