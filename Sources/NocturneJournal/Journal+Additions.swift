internal import GRDB
import NocturneSystem

/// What people and other tools add to results: edited label maps, marks, and texts. They belong to the name of an item, so that they
/// survive when it is found again.
extension Journal {
    // MARK: Edited label maps

    /// Keeps an edit in place of an earlier one of the same item.
    public func keep(_ edit: LabelEdit) throws(JournalError) {
        try change(.journalRecord) { db in try TableRow(edit).insert(db) }
    }

    /// Forgets the edit of an item.
    public func removeEdit(of item: String) throws(JournalError) {
        try change(.journalRecord) { db in
            try db.execute(sql: "DELETE FROM edit WHERE item = ?", arguments: [item])
        }
    }

    /// All edits, by the names of the items.
    public func edits() throws(JournalError) -> [String: LabelEdit] {
        try read { db in
            try TableRow<LabelEdit>.values(db, sql: "SELECT * FROM edit").reduce(into: [:]) { edits, edit in
                guard FileSystem.isName(edit.item) else { throw JournalError(damagedBy: edit.item) }
                edits[edit.item] = edit
            }
        }
    }

    // MARK: Marks of reviewers

    /// Adds marks, or replaces those that the same person gave the same result or object before, in one transaction.
    public func keep(_ marks: [ReviewMark]) throws(JournalError) {
        guard !marks.isEmpty else { return }
        try change(.journalRecord) { db in
            try Journal.markReportOld(db)
            for mark in marks { try TableRow(mark).insert(db) }
        }
    }

    /// All marks, in the order of item, object and person.
    public func marks() throws(JournalError) -> [ReviewMark] {
        try read { db in
            try TableRow.values(db, sql: "SELECT * FROM mark ORDER BY item, object, rater")
        }
    }

    // MARK: What other tools have read on objects: a row for each field

    /// Adds texts, or replaces those that the same objects had before, in one transaction.
    public func keep(_ texts: [ObjectText]) throws(JournalError) {
        guard !texts.isEmpty else { return }
        try change(.journalRecord) { db in
            try Journal.markReportOld(db)
            let remove = try db.makeStatement(sql: "DELETE FROM text WHERE item = :item AND object = :object")
            let insert = try db.makeStatement(
                sql: """
                    INSERT INTO text (item, object, number, fingerprint, field, value)
                    VALUES (:item, :object, :number, :fingerprint, :field, :value)
                    """
            )
            for text in texts {
                try remove.execute(arguments: ["item": text.item, "object": text.object])
                for (number, field) in text.fields.enumerated() {
                    try insert.execute(arguments: [
                        "item": text.item, "object": text.object, "number": number,
                        "fingerprint": text.fingerprint, "field": field.name, "value": field.value,
                    ])
                }
            }
        }
    }

    /// All texts, in the order of item and object.
    public func texts() throws(JournalError) -> [ObjectText] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM text ORDER BY item, object, number")
                .reduce(into: []) { (texts: inout [ObjectText], row) in
                    let field = ObjectText.Field(name: row["field"], value: row["value"])
                    if let last = texts.last, last.item == row["item"], last.object == row["object"] {
                        texts[texts.count - 1].fields.append(field)
                    } else {
                        texts.append(
                            ObjectText(
                                item: row["item"],
                                fingerprint: row["fingerprint"],
                                object: row["object"],
                                fields: [field]
                            )
                        )
                    }
                }
        }
    }

    // MARK: Marks and texts of a result that is replaced

    /// How many marks, and objects with texts, belong to other results of an item than this one.
    package func additionCount(of item: String, besides fingerprint: String) throws(JournalError) -> Int {
        try read { db in
            let sql = """
                SELECT (SELECT count(*) FROM mark WHERE item = :item AND fingerprint <> :fingerprint)
                    + (SELECT count(DISTINCT object) FROM text WHERE item = :item AND fingerprint <> :fingerprint)
                """
            return try Int.fetchOne(db, sql: sql, arguments: ["item": item, "fingerprint": fingerprint]) ?? 0
        }
    }

    /// Lets the marks and texts of a result belong to the one that replaces it.
    package func moveAdditions(of item: String, from old: String, to new: String) throws(JournalError) {
        try change(.journalRecord) { db in
            for table in ["mark", "text"] {
                let sql = "UPDATE \(table) SET fingerprint = ? WHERE item = ? AND fingerprint = ?"
                try db.execute(sql: sql, arguments: [new, item, old])
            }
        }
    }

    // MARK: Removal

    /// Removes items with their marks, edits and texts, and overwrites the space that they took in the file.
    public func remove(_ items: [JournalItem]) throws(JournalError) {
        try change(.journalRecord) { db in
            try Journal.markReportOld(db)
            for item in items {
                // What the result holds goes with the item.
                try db.execute(sql: "DELETE FROM item WHERE id = ?", arguments: [item.id])
                for table in ["mark", "edit", "text"] {
                    try db.execute(sql: "DELETE FROM \(table) WHERE item = ?", arguments: [item.name])
                }
            }
        }
        try rewriteFile()
    }
}
