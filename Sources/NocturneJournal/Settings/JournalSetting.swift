import Foundation

/// A value that the journal keeps once for the whole batch: its key in the database, and how it is written.
///
/// The keys and the forms of the values are those of version 0.1.0 and must not change. Modules above this one add settings
/// of their own types in extensions.
public struct JournalSetting<Value: Sendable>: Sendable {
    let key: String
    /// Nil for a text that is not such a value.
    let decode: @Sendable (String) -> Value?
    let encode: @Sendable (Value) throws -> String
}

extension JournalSetting where Value: Codable {
    /// A value that is kept as JSON.
    public init(json key: String) {
        self.key = key
        decode = { try? JSONDecoder().decode(Value.self, from: Data($0.utf8)) }
        encode = { value in
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        }
    }
}

extension JournalSetting<String> {
    /// A text that is kept as it is.
    public init(text key: String) { self.init(key: key, decode: { $0 }, encode: { $0 }) }

    /// The run that last worked on the batch: the identifier of its supervisor. A crash counts against active items only
    /// if they were started by an engine of the same supervisor.
    public static var supervisor: Self { Self(text: "supervisor") }
}

extension JournalSetting<Bool> {
    /// Whether `batch.json`, `statistics.csv` and `retry.txt` were written since the journal last changed.
    public static var isReportUpToDate: Self {
        Self(key: "accounted", decode: { $0 == "yes" }, encode: { $0 ? "yes" : "no" })
    }
}

extension JournalSetting<Int> {
    /// The form of the report that was written last; nil for that of 0.1.0.
    public static var reportVersion: Self { Self(key: "reportVersion", decode: { Int($0) }, encode: { "\($0)" }) }

    /// How often engines crashed while no item was active, since items were last processed.
    public static var crashesOutsideItems: Self {
        Self(key: "deathsOutsideItems", decode: { Int($0) }, encode: { "\($0)" })
    }
}

extension JournalSetting<[String]> {
    /// Files that did not respond to earlier engines of this run. They must not be touched: a process that opens a file for
    /// which another one still waits may become impossible to kill.
    public static var unresponsiveFiles: Self { Self(json: "silent") }
}

extension JournalSetting<CrashingFiles> {
    /// Files at which engines of this run crashed during discovery.
    public static var crashingFiles: Self { Self(json: "poison") }
}

extension JournalSetting<LearnedPace> {
    /// How long items took so far.
    public static var pace: Self { Self(json: "pace") }
}
