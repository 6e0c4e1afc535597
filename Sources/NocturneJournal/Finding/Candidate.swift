internal import GRDB

/// A found item with all that the journal knows of it: what is decided about it is decided from this.
package struct Candidate: Sendable {
    /// Its place in the order of discovery, from 1.
    package let place: Int64
    /// As the search of this run has found it, with its new fingerprint.
    package let item: DiscoveredItem
    /// As the run before has left it; nil for a new item. Without its notes.
    package let before: JournalItem?
    /// The files of the result that the item had when it was last completed.
    package let files: [ItemFile]
    /// The label map of a person; of a new item one for its preferred name.
    package let edit: LabelEdit?
    /// Of a new item: the preferred name, and whether another item, found or recorded, has a better claim to it.
    package let preferredName: (name: String, isFree: Bool)?
}

/// What was decided about a candidate.
package struct CandidateAction: Sendable {
    /// The candidate's, in the order of discovery.
    package let place: Int64
    /// What is to be recorded; nil where the journal stays as it is.
    package var entry: JournalEntry?
    /// Whether the item is to be processed in this run.
    package var isProcessed = false
    /// Processed while nothing else is.
    package var isAlone = false
    /// A label map of a person that takes the place of the model's; it is recorded with the present fingerprint.
    package var edit: LabelEdit?
    /// Whether the item's state is reported although nothing is done.
    package var isNews = false
    /// Of a result that lies in its folder and was not recorded.
    package var finished: ItemProduct?

    /// An action that does nothing: the journal stays as it is, and nothing is processed or reported.
    package init(place: Int64) { self.place = place }
}

extension FoundTable {
    /// The candidates after a place, in the order of discovery.
    /// - Returns: none when there are no more.
    package func candidates(after place: Int64) throws(JournalError) -> [Candidate] {
        try use { db in
            let rows = try Row.fetchCursor(
                db.cachedStatement(sql: Self.candidateQuery),
                arguments: [place, Self.itemsAtOnce]
            )
            var candidates: [Candidate] = []
            var bytes = 0
            while bytes < Self.bytesAtOnce, let row = try rows.next() {
                let candidate = try Candidate(row, db)
                candidates.append(candidate)
                bytes += candidate.item.bytes
            }
            return candidates
        }
    }

    /// The name of an item is free if it is the first of those that want it, and no item of the journal has it.
    private static let candidateQuery = """
        SELECT \(columns), w.place, \(JournalItem.columns),
            e.baseFingerprint, e.file, e.sha256, e.time, n.name,
            item.id IS NULL AND NOT EXISTS (SELECT 1 FROM item t WHERE t.foldedName = n.folded) AND n.place = (
                SELECT k.place FROM naming k WHERE k.folded = n.folded ORDER BY k.isQualified, k.key LIMIT 1
            )
        FROM work w JOIN found f ON f.number = w.found
            LEFT JOIN item ON item.key = f.key
            LEFT JOIN naming n ON n.place = w.place
            LEFT JOIN edit e ON e.item = COALESCE(item.name, n.name)
        WHERE w.place > ? ORDER BY w.place LIMIT ?
        """
}

extension Candidate {
    fileprivate init(_ row: Row, _ db: Database) throws {
        let first = FoundTable.columnCount
        item = try DiscoveredItem(row, db)
        place = row[first]
        let name: String? = row[first + 3]
        let wanted: String? = row[first + 18]
        guard let name else {
            (before, files) = (nil, [])
            edit = wanted.flatMap { LabelEdit(row, of: $0, from: first + 14) }
            preferredName = wanted.map { ($0, row[first + 19]) }
            return
        }
        preferredName = nil
        let known = try JournalItem(row, from: first + 1)
        before = known
        files = known.state == .completed ? try ResultTables(db).files(of: .one(known.id)).map(\.file) : []
        edit = LabelEdit(row, of: name, from: first + 14)
    }
}
