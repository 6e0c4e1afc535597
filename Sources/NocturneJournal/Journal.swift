internal import Foundation
internal import GRDB
import NocturneSystem

#if canImport(Glibc)
    import Glibc
#endif

/// The batch's SQLite file: the only record of what is done, and the only code that uses a database.
///
/// Every call runs on the journal's own executor, one after the other. Completions are durable when the call returns
/// (`synchronous=FULL`, WAL: one flush a transaction, whatever the number of items in it). Marks that an item was started
/// are not flushed: a killed process loses nothing that was written, and after a power cut an item that was active is
/// simply pending.
///
/// On a share (a network file system) one process has the file to itself while it is open, and no memory is shared through a
/// file: SQLite's shared memory and locks are not reliable there. Whoever reads it reads a copy.
public actor Journal {
    /// Whether a call continues to wait for another program that has locked the file, after it has waited so long. Asked
    /// every 50 ms, on the journal's thread.
    public typealias LockPatience = @Sendable (_ waited: Duration) -> Bool

    private let executor: JournalExecutor
    private let queue: DatabaseQueue
    private let mayWrite: @Sendable () -> Bool
    private var isAbandoned = false

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens or creates the file. Where nothing can be written, a copy of it is opened.
    /// - Parameters:
    ///   - isOnShare: whether the file is on a share; nil to look.
    ///   - lockPatience: five seconds by default; then the call throws ``JournalError`` with EAGAIN.
    ///   - mayWrite: asked before every change, on the journal's thread. Once it says no, the file belongs to another run:
    ///     as after ``abandon()``.
    /// - Throws: ``JournalError`` that names the file.
    public init(
        path: String,
        isOnShare: Bool? = nil,
        lockPatience: @escaping LockPatience = { $0 < .seconds(5) },
        mayWrite: @escaping @Sendable () -> Bool = { true }
    ) async throws {
        let executor = JournalExecutor()
        self.mayWrite = mayWrite
        queue = try await executor.perform {
            try Journal.open(path, isAlone: isOnShare ?? Journal.isOnShare(path), lockPatience)
        }
        self.executor = executor
    }

    /// Opens a journal to read it.
    private init(path: String, readsCopy: @escaping @Sendable () -> Bool) async throws {
        let executor = JournalExecutor()
        mayWrite = { true }
        queue = try await executor.perform {
            try Journal.open(path, isAlone: Journal.isOnShare(path), isCopied: readsCopy()) { $0 < .seconds(5) }
        }
        self.executor = executor
    }

    /// Opens the journal, calls `body` with it, and closes it whatever happens.
    /// - Parameter readsCopy: asked on the journal's thread: whether `body` gets a copy of the journal, as where another machine
    ///   may be writing to it. It must not change the journal then.
    public static func with<Result>(
        path: String,
        readsCopy: @escaping @Sendable () -> Bool = { false },
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Journal) async throws -> Result
    ) async throws -> Result {
        let journal = try await Journal(path: path, readsCopy: readsCopy)
        do {
            let result = try await body(journal)
            await journal.close()
            return result
        } catch {
            await journal.close()
            throw error
        }
    }

    /// Closes the file. Later calls throw.
    public func close() {
        guard isOwn() else { return }
        try? queue.close()
    }

    /// Whether the file still belongs to this run.
    private func isOwn() -> Bool {
        if !isAbandoned, !mayWrite() { abandon() }
        return !isAbandoned
    }

    /// Leaves the file to a run on another machine: nothing is written any more, later changes throw.
    ///
    /// The connection stays open until the process ends: closing it would move the log into the database.
    public func abandon() {
        guard !isAbandoned else { return }
        isAbandoned = true
        _ = Unmanaged.passRetained(queue)
    }

    /// The version of SQLite that is loaded.
    public static func libraryVersion() throws -> String {
        try DatabaseQueue().read { db in try String.fetchOne(db, sql: "SELECT sqlite_version()") ?? "" }
    }

    private static let lockInterval = Duration.milliseconds(50)

    private static func open(
        _ path: String,
        isAlone: Bool,
        isCopied: Bool = false,
        _ lockPatience: @escaping LockPatience
    ) throws(JournalError) -> DatabaseQueue {
        do {
            try FaultPoint.journalOpen.pass()
            let copy = try isCopied || JournalCopy.isNeeded(for: path) ? JournalCopy(of: path) : nil
            defer { copy?.remove() }
            // SQLite creates the log beside it with the same permissions: both are for their owner alone.
            if copy == nil { FileSystem.touch(path, mode: 0o600) }
            var configuration = Configuration()
            configuration.busyMode = .callback { attempts in
                guard lockPatience(lockInterval * attempts) else { return false }
                // SQLite has nothing to wait for but the time.
                usleep(UInt32(lockInterval / .microseconds(1)))
                return true
            }
            if isAlone, copy == nil {
                // Before the first access: then the log has no index in shared memory.
                configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
            }
            let queue = try DatabaseQueue(path: copy?.path ?? path, configuration: configuration)
            // Set after opening: GRDB's own set-up would change it back.
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
            }
            try JournalSchema.migrate(queue, path: path)
            return queue
        } catch {
            throw JournalError(error, opening: path)
        }
    }

    private static func isOnShare(_ path: String) -> Bool {
        !FileSystem.isLocal((path as NSString).deletingLastPathComponent)
    }

    // MARK: For the extensions

    /// - Throws: ``JournalError``; also when the file belongs to another run by now, which may have removed what this process
    ///   has mapped.
    func read<R>(_ body: (Database) throws -> R) throws(JournalError) -> R {
        guard isOwn() else { throw .abandoned }
        do { return try queue.read(body) } catch { throw JournalError(error) }
    }

    /// One transaction, durable when it returns.
    func change(_ point: FaultPoint, _ body: (Database) throws -> Void) throws(JournalError) {
        guard isOwn() else { throw .abandoned }
        do {
            try point.pass()
            try queue.write(body)
        } catch {
            throw JournalError(error)
        }
    }

    /// One transaction without a flush: lost in a power cut, not when the process is killed.
    func changeWithoutFlush(_ point: FaultPoint, _ body: (Database) throws -> Void) throws(JournalError) {
        guard isOwn() else { throw .abandoned }
        do {
            try point.pass()
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = NORMAL")
                defer { try? db.execute(sql: "PRAGMA synchronous = FULL") }
                try db.inTransaction {
                    try body(db)
                    return .commit
                }
            }
        } catch {
            throw JournalError(error)
        }
    }

    /// Writes the whole file anew, without what was removed, and empties its log.
    func rewriteFile() throws(JournalError) {
        guard isOwn() else { throw .abandoned }
        do {
            try queue.vacuum()
            try queue.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        } catch {
            throw JournalError(error)
        }
    }

    /// In the same transaction as every change of items: from now on the report on the disk is old.
    static func markReportOld(_ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO setting (key, value) VALUES (?, ?)",
            arguments: [
                JournalSetting<Bool>.isReportUpToDate.key, try JournalSetting<Bool>.isReportUpToDate.encode(false),
            ]
        )
    }
}
