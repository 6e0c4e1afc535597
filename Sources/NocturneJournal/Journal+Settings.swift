internal import GRDB
import NocturneSystem

extension Journal {
    /// A setting's value; nil when it was never set, or when its text is not such a value.
    /// - Throws: ``JournalError`` with `damaged` for a name in it that leads out of its folder.
    public func value<Value>(of setting: JournalSetting<Value>) throws(JournalError) -> Value? {
        let text = try read { db in
            try String.fetchOne(db, sql: "SELECT value FROM setting WHERE key = ?", arguments: [setting.key])
        }
        guard let value = text.flatMap(setting.decode) else { return nil }
        for name in setting.names(value) where !FileSystem.isName(name) { throw JournalError(damagedBy: name) }
        return value
    }

    /// Sets a value. Durable when it returns.
    public func set<Value>(_ setting: JournalSetting<Value>, to value: Value) throws(JournalError) {
        try change(.journalSetting) { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO setting (key, value) VALUES (?, ?)",
                arguments: [setting.key, try setting.encode(value)]
            )
        }
    }

    /// Removes a value. Durable when it returns.
    public func remove<Value>(_ setting: JournalSetting<Value>) throws(JournalError) {
        try change(.journalSetting) { db in
            try db.execute(sql: "DELETE FROM setting WHERE key = ?", arguments: [setting.key])
        }
    }

    /// Changes what is recorded about crashes, and nothing in between. Durable when it returns.
    public func changeCrashes(_ change: @Sendable (inout CrashRecord) -> Void) throws(JournalError) {
        let before = try value(of: .crashes) ?? CrashRecord()
        var record = before
        change(&record)
        if record != before { try set(.crashes, to: record) }
    }
}
