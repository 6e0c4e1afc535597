import Foundation
internal import GRDB
import NocturneSystem

extension Journal {
    /// Adds items that are new, and brings those that changed up to date, in one transaction.
    public func record(_ entries: [JournalEntry]) throws(JournalError) {
        guard !entries.isEmpty else { return }
        try change(.journalRecord) { db in
            try Journal.markReportOld(db)
            let insert = try db.makeStatement(
                sql: """
                    INSERT INTO item (key, name, model, source, path, fingerprint, state, reason, code, stage, deaths,
                        words)
                    VALUES (:key, :name, :model, :source, :path, :fingerprint, :state, :reason, :code, :stage, :deaths,
                        :words)
                    ON CONFLICT (key) DO UPDATE SET model = excluded.model, source = excluded.source, path = excluded.path,
                        fingerprint = excluded.fingerprint, state = excluded.state, reason = excluded.reason,
                        code = excluded.code, stage = excluded.stage, deaths = excluded.deaths, words = excluded.words,
                        statistics = '[]', notes = '[]', parts = '[]'
                    """
            )
            for entry in entries {
                try insert.execute(arguments: [
                    "key": entry.key, "name": entry.name, "model": entry.model, "source": entry.source,
                    "path": entry.path,
                    "fingerprint": entry.fingerprint, "state": entry.state.rawValue, "deaths": entry.crashes,
                    "reason": entry.reason?.text, "code": entry.reason?.code.rawValue, "stage": entry.reason?.stage,
                    "words": entry.words.joined(separator: " "),
                ])
            }
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
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            func json(_ value: some Encodable) throws -> String {
                String(decoding: try encoder.encode(value), as: UTF8.self)
            }
            try Journal.markReportOld(db)
            let statement = try db.cachedStatement(
                sql: """
                    UPDATE item SET state = 'completed', reason = NULL, code = NULL, stage = NULL, deaths = 0, files = :files,
                        statistics = :statistics, notes = :notes, parts = :parts, changed = :changed WHERE id = :id
                    """
            )
            for (id, product) in products {
                try statement.execute(arguments: [
                    "id": id, "files": try json(product.files),
                    "statistics": try StatisticList.text(of: product.statistics), "notes": try json(product.notes),
                    "parts": try json(product.parts), "changed": time,
                ])
            }
            try FaultPoint.journalTransaction.pass()
        }
        do { try FaultPoint.journalCompleted.pass() } catch { throw JournalError(error) }
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
        guard !ids.isEmpty else { return }
        try change(.journalSettle) { db in
            try Journal.markReportOld(db)
            let statement = try db.cachedStatement(
                sql: """
                    UPDATE item SET state = :state, reason = :reason, code = :code, stage = :stage, changed = :changed
                    WHERE id = :id AND state != 'completed'
                    """
            )
            for id in ids {
                try statement.execute(arguments: [
                    "id": id, "state": state.rawValue, "changed": time,
                    "reason": reason?.text, "code": reason?.code.rawValue, "stage": reason?.stage,
                ])
            }
        }
    }

    /// Records that items were active when an engine ended: state, reason and number of crashes, in one transaction.
    /// Durable when it returns. Completed items stay completed.
    public func takeBack(_ items: [JournalItem], at time: String) throws(JournalError) {
        guard !items.isEmpty else { return }
        try change(.journalSettle) { db in
            try Journal.markReportOld(db)
            let statement = try db.cachedStatement(
                sql: """
                    UPDATE item SET state = :state, reason = :reason, code = :code, stage = :stage, deaths = :deaths,
                        changed = :changed
                    WHERE id = :id AND state != 'completed'
                    """
            )
            for item in items {
                try statement.execute(arguments: [
                    "id": item.id, "state": item.state.rawValue, "deaths": item.crashes, "changed": time,
                    "reason": item.reason?.text, "code": item.reason?.code.rawValue, "stage": item.reason?.stage,
                ])
            }
        }
    }
}
