internal import GRDB
import NocturneSystem

extension Journal {
    /// Adds items that are new, and brings those that changed up to date, in one transaction.
    public func record(_ entries: [JournalEntry]) throws(JournalError) {
        guard !entries.isEmpty else { return }
        try change(.journalRecord) { db in
            try Journal.markReportOld(db)
            let writer = try ItemWriter(db)
            for entry in entries { try writer.write(entry) }
        }
    }

    /// Marks items as active, without a flush.
    public func markStarted(_ ids: [Int64]) throws(JournalError) {
        try changeWithoutFlush(.journalStart) { db in
            let statement = try db.cachedStatement(
                sql: "UPDATE item SET state = 'started', reason = NULL, code = NULL, stage = NULL WHERE id = :id"
            )
            for id in ids { try statement.execute(arguments: ["id": id]) }
        }
    }

    /// Records items as completed with all their files, in one transaction. Durable when it returns.
    public func complete(_ products: [(id: Int64, product: ItemProduct)], at time: String) throws(JournalError) {
        try change(.journalComplete) { db in
            try Journal.markReportOld(db)
            for (id, product) in products { try Journal.complete(id, product, at: time, db) }
            try FaultPoint.journalTransaction.pass()
        }
        do { try FaultPoint.journalCompleted.pass() } catch { throw JournalError(error) }
    }

    /// One row of ``complete(_:at:)``, inside a transaction. Crashes of earlier attempts no longer count.
    static func complete(_ id: Int64, _ product: ItemProduct, at time: String, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                UPDATE item SET state = 'completed', reason = ?, code = ?, stage = NULL, crashes = 0, changed = ?
                WHERE id = ?
                """
        )
        let origin = product.origin
        try statement.execute(arguments: [origin?.sentence.column, origin?.code.rawValue, time, id])
        try ResultTables(db).write(product, of: id)
    }

    /// Records the files of a result that was put in the place of an item's present one.
    public func replaceFiles(of id: Int64, by files: [ItemFile]) throws(JournalError) {
        try change(.journalRecord) { db in try ResultTables(db).write(files, of: id) }
    }

    /// Records another end than completion, or a return to pending, with its reason. Durable when it returns.
    ///
    /// Items that are completed by now stay so: a commit may have ended while somebody was deciding that the item was
    /// stuck, late or interrupted. To process a completed item again, ``record(_:)`` it as pending.
    public func settle(
        _ ids: [Int64],
        as state: ItemState,
        reason: ItemReason?,
        at time: String
    ) throws(JournalError) {
        try settle(ids.map { ($0, state, reason, nil) }, at: time)
    }

    /// Records that items were active when an engine ended: state, reason and number of crashes, in one transaction.
    /// Durable when it returns. Completed items stay completed.
    public func takeBack(_ items: [JournalItem], at time: String) throws(JournalError) {
        try settle(items.map { ($0.id, $0.state, $0.reason, $0.crashes) }, at: time)
    }

    /// Lets completed items wait again, in one transaction.
    public func processAgain(_ ids: [Int64], reason: ItemReason, at time: String) throws(JournalError) {
        try settle(ids.map { ($0, .pending, reason, 0) }, wereCompleted: true, at: time)
    }

    /// Sets completed items aside, in one transaction.
    package func setAside(_ ids: [Int64], _ reason: ItemReason, at time: String) throws(JournalError) {
        try settle(ids.map { ($0, .skipped, reason, nil) }, wereCompleted: true, at: time)
    }

    /// How an item stands; without crashes their number stays.
    private typealias End = (id: Int64, state: ItemState, reason: ItemReason?, crashes: Int?)

    private func settle(_ ends: [End], wereCompleted: Bool = false, at time: String) throws(JournalError) {
        guard !ends.isEmpty else { return }
        try change(.journalSettle) { db in
            try Journal.markReportOld(db)
            // An item may have been completed since the caller decided: the statement itself leaves it out.
            let statement = try db.cachedStatement(
                sql: """
                    UPDATE item SET state = :state, reason = :reason, code = :code, stage = :stage,
                        crashes = ifnull(:crashes, crashes), changed = :changed
                    WHERE id = :id AND (state = 'completed') = :wereCompleted
                    """
            )
            for end in ends {
                try statement.execute(arguments: [
                    "id": end.id, "state": end.state.rawValue, "reason": end.reason?.sentence.column,
                    "code": end.reason?.code.rawValue, "stage": end.reason?.stage, "crashes": end.crashes,
                    "changed": time, "wereCompleted": wereCompleted,
                ])
            }
        }
    }
}
