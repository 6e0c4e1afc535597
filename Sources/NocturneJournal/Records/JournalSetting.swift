import Foundation
import NocturneSystem

/// A value that the journal keeps once for the whole batch: its key in the database, and how it is written.
///
/// Modules above this one add settings with their own types in extensions.
///
/// ```swift
/// extension JournalSetting<Int> {
///     static var rounds: Self { Self(json: "rounds") }
/// }
/// try await journal.set(.rounds, to: 3)
/// let rounds = try await journal.value(of: .rounds) ?? 0
/// ```
public struct JournalSetting<Value: Sendable>: Sendable {
    let key: String
    /// Nil for a text that is not such a value.
    let decode: @Sendable (String) -> Value?
    let encode: @Sendable (Value) throws -> String
    /// The names in a value from which paths are made. A journal can come from somebody else: such a name must not lead elsewhere.
    var names: @Sendable (Value) -> [String] = { _ in [] }
}

extension JournalSetting where Value: Codable {
    /// A value that is kept as JSON.
    /// - Parameter names: those in a value from which paths are made. One that leads out of its folder is an error when it is read.
    public init(json key: String, names: @escaping @Sendable (Value) -> [String] = { _ in [] }) {
        self.key = key
        self.names = names
        decode = { try? JSONDecoder().decode(Value.self, from: Data($0.utf8)) }
        encode = { try StableJSON.text($0) }
    }
}

extension JournalSetting<String> {
    /// The name of a file or folder. One that leads out of its folder is an error when it is read.
    public init(name key: String) { self.init(key: key, decode: { $0 }, encode: { $0 }, names: { [$0] }) }
}

extension JournalSetting<Bool> {
    /// Whether `batch.json`, `statistics.csv` and `retry.txt` were written since the journal last changed.
    public static var isReportUpToDate: Self {
        Self(key: "isReportUpToDate", decode: { $0 == "yes" }, encode: { $0 ? "yes" : "no" })
    }
}

extension JournalSetting<Int> {
    /// The form of the report that was written last; nil for none.
    public static var reportVersion: Self { Self(key: "reportVersion", decode: { Int($0) }, encode: { "\($0)" }) }
}

extension JournalSetting<CrashRecord> {
    /// What the engines of the run that last worked on the batch went through.
    public static var crashes: Self { Self(json: "crashes") }
}

extension JournalSetting<LearnedPace> {
    /// How long items took so far.
    public static var pace: Self { Self(json: "pace") }
}

/// What the engines of one run went through.
public struct CrashRecord: Codable, Sendable, Equatable {
    /// The run: the identifier of its supervisor; nil without one. A crash counts against active items only if they were started
    /// by an engine of the same supervisor.
    public var supervisor: String?
    /// How often engines crashed while no item was active, since items were last processed.
    public var crashesOutsideItems = 0
    /// Files at which engines crashed during discovery.
    public var crashingFiles = CrashingFiles()
    /// Files that did not respond. They must not be touched: a process that opens a file for which another one still waits may
    /// become impossible to kill.
    public var unresponsiveFiles: [String] = []

    /// Of a new batch.
    public init() {}
}

/// Files at which engines crashed during discovery, before there were items, in one run.
public struct CrashingFiles: Codable, Sendable, Equatable {
    /// What the last engine that crashed was reading, or had just read, one list a thread: one of these crashed it.
    public private(set) var suspects: [[String]] = []
    /// Files at which two engines crashed, with the reason: they are not read again.
    public private(set) var reasons: [String: String] = [:]

    /// Without any crash so far.
    public init() {}

    /// Takes in that an engine crashed while it was reading something.
    ///
    /// After the first crash files are read one after the other, so that files that happened to be read along with the
    /// culprit are not suspected a second time.
    /// - Returns: whether it was the second crash for any of the files, which are excluded from now on.
    public mutating func recordCrash(reading files: [[String]], cause: String) -> Bool {
        let culprits = files.filter(suspects.contains)
        for path in culprits.flatMap({ $0 }) { reasons[path] = "the engine crashed twice while reading it: \(cause)" }
        suspects = culprits.isEmpty ? files : []
        return !culprits.isEmpty
    }
}
