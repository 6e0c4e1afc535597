internal import GRDB
import NocturneSystem

/// Marks of reviewers.
extension Journal {
    /// Adds marks, or replaces those that the same person gave the same result or object before, in one transaction.
    public func keep(_ marks: [ReviewMark]) throws(JournalError) {
        guard !marks.isEmpty else { return }
        try change(.journalRecord) { db in
            try Journal.markReportOld(db)
            let insert = try db.makeStatement(
                sql: """
                    INSERT OR REPLACE INTO mark (item, object, rater, fingerprint, verdict, comment, time)
                    VALUES (:item, :object, :rater, :fingerprint, :verdict, :comment, :time)
                    """
            )
            for mark in marks {
                try insert.execute(arguments: [
                    "item": mark.item, "object": mark.object ?? "", "rater": mark.rater,
                    "fingerprint": mark.fingerprint, "verdict": mark.verdict.rawValue, "comment": mark.comment,
                    "time": mark.time,
                ])
            }
        }
    }

    /// All marks, in the order of item, object and person.
    public func marks() throws(JournalError) -> [ReviewMark] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM mark ORDER BY item, object, rater").map { row in
                let (object, text): (String, String) = (row["object"], row["verdict"])
                guard let verdict = ReviewVerdict(rawValue: text) else { throw JournalError(damagedBy: text) }
                return ReviewMark(
                    item: row["item"],
                    fingerprint: row["fingerprint"],
                    object: object.isEmpty ? nil : object,
                    rater: row["rater"],
                    verdict: verdict,
                    comment: row["comment"],
                    time: row["time"]
                )
            }
        }
    }

    /// Lets completed items wait again, in one transaction.
    public func processAgain(_ ids: [Int64], reason: ItemReason, at time: String) throws(JournalError) {
        guard !ids.isEmpty else { return }
        try change(.journalSettle) { db in
            try Journal.markReportOld(db)
            let statement = try db.makeStatement(
                sql: """
                    UPDATE item SET state = 'pending', reason = :reason, code = :code, stage = NULL, deaths = 0,
                        changed = :changed
                    WHERE id = :id AND state = 'completed'
                    """
            )
            for id in ids {
                try statement.execute(arguments: [
                    "id": id, "reason": reason.text, "code": reason.code.rawValue, "changed": time,
                ])
            }
        }
    }
}
