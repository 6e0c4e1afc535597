internal import Glibc

/// A place where a run can be made to die, to fail or to be late on purpose, so that what follows can be proven.
///
/// The points stand where the promises are kept or broken: at every step of the journal and of the commit, at every
/// system call that writes, at the allocation of voxels, at every tile and every hand-over between stages. Without an
/// armed ``FaultInjection`` a point costs a load and a branch; none stands inside a loop over voxels.
public enum FaultPoint: String, CaseIterable, Sendable {
    case folderCreate = "folder.create"
    case fileCreate = "file.create"
    case fileWrite = "file.write"
    case fileClose = "file.close"
    case fileFlush = "file.flush"
    case diskFlush = "disk.flush"
    case fileRename = "file.rename"
    /// Before each call of a removal; known by the call: `examine`, `open`, `list` or `remove`.
    case fileRemove = "file.remove"
    case itemExchange = "item.exchange"
    /// A file that is tried before it is read; known by its name.
    case inputAnswer = "input.answer"
    /// Files that are looked at before there are items; known by the name of the first.
    case inputScan = "input.scan"
    case inputOpen = "input.open"
    case inputRead = "input.read"
    case checkpointWrite = "checkpoint.write"
    case checkpointFlush = "checkpoint.flush"

    case journalOpen = "journal.open"
    case journalSetting = "journal.setting"
    case journalRecord = "journal.record"
    case journalStart = "journal.start"
    case journalComplete = "journal.complete"
    case journalSettle = "journal.settle"
    /// Inside a transaction that completes items, before it is committed.
    case journalTransaction = "journal.transaction"
    /// After the transaction that completed items.
    case journalCompleted = "journal.completed"

    case itemStaged = "item.staged"
    case itemInPlace = "item.inPlace"
    case batchReport = "batch.report"

    case allocation = "memory.allocate"
    case lease = "memory.lease"
    case channelSend = "channel.send"
    case channelReceive = "channel.receive"
    case stage = "item.stage"
    case tile = "inference.tile"

    /// Passes the point: dies here or waits here when that was asked for.
    /// - Parameter subject: what passes, such as an item's name, where the point knows it.
    /// - Returns: the code of the system to fail with; nil ordinarily.
    @inlinable
    public func failure(of subject: @autoclosure () -> String = "") -> Int32? {
        guard FaultInjection.isArmed else { return nil }
        return FaultInjection.pass(self, subject())
    }

    /// A system call that answers -1 and sets `errno` when it fails, or this point's failure in its place.
    @inlinable
    public func call<Result: SignedInteger>(_ body: () -> Result) -> Result {
        guard let code = failure() else { return body() }
        setSystemError(code)
        return -1
    }

    /// A call that answers 0 or the code of the system, or this point's failure in its place.
    @inlinable
    public func code(_ body: () -> Int32) -> Int32 { failure() ?? body() }

    /// Passes a point that no system call stands at.
    /// - Throws: when it is to fail: an error as if the system had refused, which callers treat like one of a real call.
    @inlinable
    public func pass(of subject: @autoclosure () -> String = "") throws(FileSystemError) {
        guard let code = failure(of: subject()) else { return }
        throw FileSystemError(operation: "pass the fault point", path: rawValue, code: code)
    }
}

/// `errno` is a macro of C, which inlinable code of other modules cannot name.
@usableFromInline
func setSystemError(_ code: Int32) { errno = code }
