internal import GRDB

/// What is planned for one found item.
package struct PlannedRow: Sendable {
    /// In the order of discovery.
    package let place: Int64
    /// Of the item, as the journal knows it.
    package let key: String
    /// The folder that the item is to have in the output.
    package let name: String
    /// The input as the user knows it.
    package let path: String
    /// The index of its recipe among the batch's.
    package let recipe: Int
    /// Whether it can be processed.
    package let isGood: Bool
    /// What becomes of it, in words of the caller.
    package let state: String
    /// The memory that the item is predicted to need at most; nil where that is not predicted.
    package var peakBytes: Int?
    /// Tiles or other steps of inference, for the estimate of time; nil where they are not known.
    package var steps: Int?
    /// Whether it is to be processed with the plan that needs less memory and more time.
    package var isLean = false
    /// What its stages take without inference, as they took before.
    package var otherSeconds: Double?
    /// Why it cannot be processed, for people; nil for a good item.
    package var problem: String?

    /// - Parameters:
    ///   - candidate: the found item; place, key, path and recipe are taken from it.
    ///   - name: of its folder.
    ///   - state: what becomes of it, in words of the caller.
    ///   - isGood: whether it can be processed.
    package init(
        _ candidate: Candidate,
        name: String,
        state: String,
        isGood: Bool
    ) {
        (place, key, path) = (candidate.place, candidate.item.key, candidate.item.path)
        (recipe, self.name, self.state, self.isGood) = (candidate.item.recipe, name, state, isGood)
    }

    fileprivate init(_ row: Row) {
        (place, key, name, path, recipe) = (row[0], row[1], row[2], row[3], row[4])
        (isGood, state, peakBytes, steps) = (row[5], row[6], row[7], row[8])
        (isLean, otherSeconds, problem) = (row[9], row[10], row[11])
    }
}

extension FoundTable {
    /// Adds what is planned for some items, in one transaction.
    package func add(_ rows: [PlannedRow]) throws(JournalError) {
        try change { db in
            let insert = try db.cachedStatement(
                sql: """
                    INSERT INTO planned (place, key, name, path, recipe, isGood, state, peakBytes, steps, isLean, otherSeconds,
                        problem)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """
            )
            for row in rows {
                try insert.execute(arguments: [
                    row.place, row.key, row.name, row.path, row.recipe, row.isGood, row.state, row.peakBytes, row.steps,
                    row.isLean, row.otherSeconds, row.problem,
                ])
            }
        }
    }

    /// Calls `body` with what is planned for each item, in the order of discovery, some at a time.
    package func forEachPlanned(_ body: ([PlannedRow]) throws -> Void) throws {
        try forEachPortion(number: \.place, body) { last in
            try use { db in
                let sql = "SELECT * FROM planned WHERE place > ? ORDER BY place LIMIT ?"
                return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [last, Self.itemsAtOnce])
                    .map(PlannedRow.init)
            }
        }
    }
}
