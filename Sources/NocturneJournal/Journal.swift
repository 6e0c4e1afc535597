internal import Dispatch
internal import Foundation
internal import GRDB
import Glibc
import NocturneSystem

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
    let queue: DatabaseQueue
    /// What the search of the inputs finds, in temporary tables next to those of the items.
    public nonisolated let found: FoundTable
    private let mayWrite: @Sendable () -> Bool
    private var isAbandoned = false

    /// The journal's own serial queue: calls wait for the disk there and hold no thread of the tasks.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens or creates the file. Where nothing can be written, a copy of it is opened.
    /// - Parameters:
    ///   - isOnShare: whether the file is on a share; nil to look.
    ///   - lockPatience: five seconds by default; then the call throws ``JournalError`` with EAGAIN.
    ///   - mayWrite: asked before every change, on the journal's thread. Once it returns false, the file belongs to another
    ///     run: as after ``abandon()``.
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
            try DatabaseQueue.journal(at: path, isOnShare: isOnShare, lockPatience: lockPatience)
        }
        found = FoundTable(queue)
        self.executor = executor
    }

    private init(_ queue: DatabaseQueue, _ executor: JournalExecutor) {
        (self.queue, self.executor, mayWrite) = (queue, executor, { true })
        found = FoundTable(queue)
    }

    /// Opens a journal, or a copy of it.
    /// - Parameter isCopied: whether a copy is opened; nil for a journal that is changed. A copy is opened, too, where SQLite cannot
    ///   make the files that it needs next to the journal: on a full disk.
    private static func opened(_ path: String, asCopy isCopied: (@Sendable () -> Bool)?) async throws -> Journal {
        let executor = JournalExecutor()
        let queue = try await executor.perform { () throws(JournalError) in
            func open(isCopied: Bool) throws(JournalError) -> DatabaseQueue {
                try DatabaseQueue.journal(at: path, isCopied: isCopied) { $0 < .seconds(5) }
            }
            guard let isCopied else { return try open(isCopied: false) }
            do throws(JournalError) {
                return try open(isCopied: isCopied())
            } catch {
                // A copy of a journal that is not there would be an empty one.
                guard error.mayLackRoom, (FileSystem.size(path) ?? 0) > 0, let queue = try? open(isCopied: true)
                else { throw error }
                return queue
            }
        }
        return Journal(queue, executor)
    }

    /// A journal without items in a temporary file, for what is only planned.
    public static func temporary() async throws -> Journal {
        let executor = JournalExecutor()
        return Journal(try await executor.perform { try DatabaseQueue.temporaryJournal() }, executor)
    }

    /// A copy of a journal, to plan in: what is changed in it is lost when it is closed.
    public static func copy(of path: String) async throws -> Journal { try await opened(path) { true } }

    /// Puts a copy of the journal in its place, and removes the old files.
    ///
    /// For a folder that is taken over from a run of another machine that was silent for too long. If that run comes back, it
    /// writes into files that no longer have a name, and never into those of this run, however late its system writes what
    /// it had in memory. Nothing is done where there is no journal yet.
    /// - Throws: ``JournalError`` when the copy cannot be made, or is damaged; the old files are then as they were.
    public static func replaceFile(at path: String) async throws {
        try await JournalExecutor().perform { try JournalCopy.replace(path) }
    }

    /// Opens the journal, calls `body` with it, and closes it whatever happens.
    /// - Parameter readsCopy: nil for a `body` that changes the journal. Else asked on the journal's thread: whether `body` gets a copy
    ///   of it, as where another machine may be writing to it. It may get one in any case, as on a full disk.
    public static func with<Result>(
        path: String,
        readsCopy: (@Sendable () -> Bool)? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Journal) async throws -> Result
    ) async throws -> Result {
        let journal = try await opened(path, asCopy: readsCopy)
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
    func isOwn() -> Bool {
        if !isAbandoned, !mayWrite() { abandon() }
        return !isAbandoned
    }

    /// Leaves the file to a run on another machine: nothing more is written, later changes throw.
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
                // A property of the connection: nobody else uses it meanwhile, since the queue is serial.
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

    /// Rewrites the whole file, without what was removed, and empties its log.
    package func rewriteFile() throws(JournalError) {
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

/// Runs everything that the ``Journal`` does on a separate serial queue: a call waits for the disk, and must not hold
/// one of the few threads that all tasks share.
final class JournalExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "nocturne.journal", qos: .userInitiated)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in
            ThreadRole.allowingBlocking { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }

    /// Runs `body` on the queue, before there is an actor.
    func perform<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try ThreadRole.allowingBlocking { try body() } }) }
        }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
