internal import GRDB
package import NocturneSystem

/// What several recipes have found below the same inputs becomes one list.
extension FoundTable {
    /// A source that no model is to process is listed once, with the reasons of all. Where several models process one source,
    /// the model is part of the key and of the name of all but the first.
    /// - Parameters:
    ///   - objectionCode: of the reason of items that their models must not process.
    ///   - joined: one reason for a source with several.
    ///   - models: the ids of the batch's models, in the order in which they were given.
    package func merge(
        objectionCode: FaultCode,
        joined: ([ItemReason]) -> ItemReason,
        models: [String] = []
    ) throws(JournalError) {
        try change { db in
            try db.execute(
                sql: """
                    CREATE INDEX temp.foundKey ON found (key);
                    CREATE INDEX temp.foundPath ON found (path);
                    """
            )
            // What another model may process.
            try db.execute(
                sql: """
                    DELETE FROM found WHERE objection IS NOT NULL AND key IN (SELECT key FROM found WHERE objection IS NULL)
                    """
            )
            try db.execute(
                sql: """
                    UPDATE found SET problem = 'setAside', code = ?, reason = objection, stage = ?
                    WHERE objection IS NOT NULL
                    """,
                arguments: [objectionCode.rawValue, ItemReason.discovery]
            )
        }
        try joinObjections(joined)
        try nameModels(models)
    }

    /// Of several items with one key that no model may process, keeps the first, with the reasons of all.
    private func joinObjections(_ joined: ([ItemReason]) -> ItemReason) throws(JournalError) {
        // Joined groups have one row left, so that each query returns those that are still to be joined.
        while true {
            let count = try change { db in
                let rows = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT key, number, code, reason FROM found WHERE objection IS NOT NULL AND key IN (
                            SELECT key FROM found WHERE objection IS NOT NULL GROUP BY key HAVING COUNT(*) > 1 LIMIT ?
                        ) ORDER BY key, recipe, rank, sort, number
                        """,
                    arguments: [Self.itemsAtOnce]
                )
                let groups = Dictionary(grouping: rows) { $0[0] as String }
                for group in groups.values { try keepFirst(of: group, joined, db) }
                return groups.count
            }
            if count < Self.itemsAtOnce { return }
        }
    }

    private func keepFirst(of group: [Row], _ joined: ([ItemReason]) -> ItemReason, _ db: Database) throws {
        var reasons: [ItemReason] = []
        for row in group {
            let reason = ItemReason.discovered(FaultCode(rawValue: row[2]), Sentence(column: row[3]))
            if !reasons.contains(reason) { reasons.append(reason) }
        }
        let (reason, first): (ItemReason, Int64) = (joined(reasons), group[0][1])
        try db.cachedStatement(sql: "UPDATE found SET code = ?, reason = ?, stage = ? WHERE number = ?")
            .execute(arguments: [reason.code.rawValue, reason.sentence.column, reason.stage, first])
        for row in group.dropFirst() {
            let number: Int64 = row[1]
            try db.cachedStatement(sql: "DELETE FROM found WHERE number = ?").execute(arguments: [number])
        }
    }

    /// Where several models process a source, the item of the first one has its plain name and key, and those of the others
    /// have the model's name in theirs: names do not change when a model is added. The first one is that of the item which the
    /// journal has by the plain key; without one, the first of `models`. While the first model is not given, its results keep the plain
    /// key: the items of the others have the model's name all the same.
    private func nameModels(_ models: [String]) throws(JournalError) {
        let name = """
            UPDATE found SET key = key || '|' || model, name = name || '@' || model, suffix = suffix || '@' || model
            """
        try change { db in
            // Without the version, which is part of the id only while the batch has two versions of a model.
            func stem(_ model: String) -> String { "SUBSTR(\(model), 1, INSTR(\(model) || '@', '@') - 1)" }
            let isOther = "\(stem("i.model")) <> \(stem("found.model"))"
            try db.execute(
                sql: """
                    \(name) WHERE objection IS NULL AND (
                        EXISTS (SELECT 1 FROM item i WHERE i.key = found.key || '|' || found.model)
                        OR EXISTS (SELECT 1 FROM item i WHERE i.key = found.key AND \(isOther))
                        AND EXISTS (SELECT 1 FROM item i WHERE i.key > found.key || '|' AND i.key < found.key || '}')
                    )
                    """
            )
            let several = "SELECT key FROM found WHERE objection IS NULL GROUP BY key HAVING COUNT(*) > 1"
            guard try Bool.fetchOne(db, sql: "SELECT EXISTS (\(several))") ?? false else { return }
            try db.execute(sql: "CREATE TEMP TABLE modelOrder (model TEXT PRIMARY KEY, place INTEGER NOT NULL)")
            for (place, model) in models.enumerated() {
                try db.execute(sql: "INSERT OR IGNORE INTO modelOrder VALUES (?, ?)", arguments: [model, place])
            }
            // `IS NULL` is 0 for what is there, so that the journal's item comes first, then models in the given order.
            try db.execute(
                sql: """
                    \(name) WHERE number IN (
                        SELECT number FROM (
                            SELECT f.number, ROW_NUMBER() OVER (
                                PARTITION BY f.key ORDER BY i.id IS NULL, o.place IS NULL, o.place, f.model, f.number
                            ) AS place
                            FROM found f LEFT JOIN modelOrder o ON o.model = f.model
                                LEFT JOIN item i ON i.key = f.key AND i.model = f.model
                            WHERE f.objection IS NULL AND f.key IN (\(several))
                        ) WHERE place > 1
                    );
                    DROP TABLE temp.modelOrder;
                    """
            )
        }
    }

    /// Fixes the order of discovery: a place for each item.
    ///
    /// What an earlier attempt has left is removed first: a reconciliation that meets a full disk is repeated from here.
    package func order() throws(JournalError) {
        try execute(
            """
            DROP INDEX IF EXISTS temp.workFound;
            DROP INDEX IF EXISTS temp.namingName;
            DELETE FROM work;
            DELETE FROM naming;
            INSERT INTO work (found) SELECT number FROM found ORDER BY recipe, rank, sort, number;
            CREATE INDEX temp.workFound ON work (found);
            """
        )
    }
}
