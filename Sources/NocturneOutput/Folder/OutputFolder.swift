import Foundation
import Glibc
import NocturneSystem

/// Where things lie in a batch's output folder.
public struct OutputFolder: Sendable {
    /// Of the output folder.
    public let path: String
    /// The shard that is worked on, counted from 1; nil for the whole batch. Shards share the items' folders and
    /// their edited labels.
    public internal(set) var shard: Int?
    /// The name of the folder in which results are prepared: see ``prepareStaging(before:)``.
    package var stagingName = OutputFolder.firstStaging
    /// The run's folder on another disk, in which results are prepared: see ``makeWorkFolder(in:)``. Nil for the hidden folder.
    package var work: String?

    /// - Parameter path: of a folder that need not exist yet; a slash at its end is left out, so that paths below it have one.
    public init(_ path: String) {
        self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// What the batch needs to continue, open to its owner only; each shard has a separate one.
    public var hidden: String { shard.map { "\(shards)/\($0)" } ?? batchFolder }
    /// For the page: see ``reviewFolder``. Not part of the results.
    public var times: String { batchFolder + "/times" }
    /// The database, the only record of what was done.
    public var journal: String { hidden + "/journal.sqlite" }
    /// The file that the run of this machine has locked; it names the run.
    public var lock: String { hidden + "/lock" }
    /// Where the output of a detached run goes that would have gone to the terminal.
    public var log: String { hidden + "/log" }
    /// Where commands leave what a run is to do, one file for each request.
    public var requests: String { hidden + "/requests" }
    /// Where results are prepared before they are moved to their places.
    public var staging: String { (work ?? hidden) + "/" + stagingName }
    /// Results that were prepared on another disk, complete, before they are renamed into their places.
    package var arrived: String { hidden + "/arrived" }
    /// Label maps that were edited by people, and the model's maps that they replace: those of all shards are here.
    public var edits: String { batchFolder + "/edited" }
    /// What discovery is reading; kept by ``DiscoveryTrace``.
    package var discoveryTrace: String { hidden + "/reading" }
    /// The report for programs.
    public var report: String { path + "/batch.json" }
    /// Measures over the batch by model and label.
    public var statistics: String { path + "/statistics.csv" }
    /// What was measured of each label, object and region of every item.
    public var measurements: String { path + "/measurements.csv" }
    /// Agreement with reference labels over the batch.
    public var comparison: String { path + "/comparison.csv" }
    /// Measures of volumes of one file over time.
    public var timeTable: String { path + "/time.csv" }
    /// Features of regions, a row for each label.
    public var radiomics: String { path + "/radiomics.csv" }
    /// The inputs of items that did not complete, in the form of `--list`.
    public var retryList: String { path + "/retry.txt" }
    /// Those of a shard are hidden until the shards are merged.
    public var events: String { (shard == nil ? path : hidden) + "/events.jsonl" }
    /// The page for reviewers, and its scripts and data.
    public var page: String { path + "/index.html" }
    /// Scripts and data of ``page``.
    public var reviewFolder: String { path + "/review" }

    /// The result of an item.
    public func item(_ name: String) -> String { path + "/" + name }
    /// Where the result of an item is prepared.
    public func staging(_ name: String) -> String { staging + "/" + name }
    /// Where the result of an item waits that was prepared on another disk.
    package func arrived(_ name: String) -> String { arrived + "/" + name }

    /// Whether there is a folder of that name with a `result.json`, which may be another program's. Links are not followed.
    package func holdsResult(_ name: String) -> Bool {
        FileSystem.kind(item(name)) == .folder && FileSystem.kind(item(name) + "/result.json") == .file
    }

    /// The path as an argument of a command that a person copies into a shell.
    public var argument: String { ShellWord.quoted(path) }

    /// The command that processes what waits, for people: `nocturne resume OUT`, or `nocturne run OUT --shard K/N` while the batch
    /// is divided, with K for the number of a shard where this is the whole batch.
    public var continuation: String {
        let count = shardCount
        guard count > 0 else { return "nocturne resume \(argument)" }
        return "nocturne run \(argument) --shard \(shard.map(String.init) ?? "K")/\(count)"
    }

    /// The command that tries items again, to be followed by options: of a batch that is divided after it was merged, since items that
    /// failed in the search are in no shard, and shards take no options.
    package var retrial: String {
        (shardCount > 0 ? "nocturne merge \(argument)` and `" : "") + "nocturne resume \(argument)"
    }

    /// 0 unless the batch is divided.
    private var shardCount: Int { FileSystem.entries(shards).count { Int($0) != nil } }

    /// Whether this folder holds a batch, which this user may or may not be able to read.
    public var holdsBatch: Bool { access(journal, F_OK) == 0 || isClosed }

    /// Whether this folder holds a batch of another user, who alone can read its journal.
    public var isClosed: Bool {
        access(journal, F_OK) != 0 && errno == EACCES && FileSystem.kind(hidden) == .folder
    }

    /// - Throws: ``BatchError`` for a folder without a batch, or with links in place of the batch's own folders.
    public func checkHoldsBatch() throws(BatchError) {
        try checkIsUsable()
        guard !holdsBatch else { return }
        guard access(journal, F_OK) == 0 || errno != EACCES else {
            let detail =
                "the folder \(path) cannot be read: \(errnoText(EACCES)). Use the command as a user who can read it"
            throw BatchError(.notABatch, path: "", detail: detail)
        }
        let fact = FileSystem.exists(path) ? "\(path) holds no batch" : "the folder \(path) does not exist"
        let nearby = batchesNearby
        let step =
            nearby.isEmpty
            ? "Name the folder that was given to `nocturne run` with --output"
            : "Did you mean \(nearby.joined(separator: " or "))?"
        throw BatchError(.notABatch, path: "", detail: "\(fact). \(step)")
    }

    /// - Throws: ``BatchError`` for a batch of another user, or with links in place of the batch's own folders.
    package func checkIsUsable() throws(BatchError) {
        try checkOwnFolders()
        guard isClosed else { return }
        let detail =
            "the batch in \(path) can be used only by the user who started it: its journal cannot be read (\(errnoText(EACCES))). "
            + "Read batch.json and the results there, or choose another folder"
        throw BatchError(.notABatch, path: "", detail: detail)
    }

    /// Folders with a batch: the one that this folder is in, else up to three that are in this folder.
    private var batchesNearby: [String] {
        let above = (path as NSString).deletingLastPathComponent
        if !above.isEmpty, OutputFolder(above).holdsBatch { return [above] }
        let below = FileSystem.entries(path).prefix(1000).map { path + "/" + $0 }
        return Array(below.filter { OutputFolder($0).holdsBatch }.prefix(3))
    }

    /// In bytes: SQLite takes 512 on Linux, eight of them for the endings of the files next to its database.
    private static let longestJournalPath = 504

    /// Makes the folder and its hidden part, which is for its owner alone: what is in work is not to be seen, and nobody
    /// else can put a link where something will be written.
    /// - Throws: ``BatchError`` naming what cannot be written.
    public func create() throws(BatchError) {
        if FileSystem.exists(path), !FileSystem.isFolder(path) {
            throw BatchError(
                .outputUnwritable,
                path: "",
                detail: "\(path) is not a folder. Name a folder for the results with --output"
            )
        }
        let excess = journal.utf8.count - OutputFolder.longestJournalPath
        guard excess <= 0 else {
            let fact = "the path \(path) is \(counted(excess, "byte")) too long for a batch"
            throw BatchError(.outputUnwritable, path: "", detail: fact + ". Choose a shorter one with --output")
        }
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw BatchError(
                .outputUnwritable,
                path: "",
                detail: "cannot create the folder \(path): \(reason(of: error)). Choose another with --output"
            )
        }
        try checkOwnFolders()
        try checkOwner()
        for folder in [hidden, staging] {
            try make(folder)
            // One that an earlier version made was open to others.
            restrict(folder)
        }
        guard access(path, W_OK) == 0, access(hidden, W_OK) == 0 else {
            throw unwritable(errno)
        }
    }

    /// A disk that fails for a moment is given three more chances.
    private func make(_ folder: String) throws(BatchError) {
        for attempt in 0...3 {
            do throws(FileSystemError) {
                return try FileSystem.makeFolder(folder, mode: 0o700)
            } catch {
                if error.isTransient, !error.isOutOfRoom, attempt < 3 { continue }
                throw unwritable(error.code)
            }
        }
    }

    private func reason(of error: any Error) -> String {
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        if let underlying, underlying.domain == NSPOSIXErrorDomain {
            return String(cString: strerror(Int32(underlying.code)))
        }
        return errnoText()
    }
}

/// A batch that is divided into shards: each has its own journal, lock, requests, events and staging folder.
extension OutputFolder {
    /// The hidden folder of the whole batch.
    var batchFolder: String { path + "/.nocturne" }

    /// The folders of the shards, named by their numbers.
    public var shards: String { batchFolder + "/shards" }

    /// What the scheduler of a cluster writes about the tasks that work on shards.
    public var taskLogs: String { batchFolder + "/tasks" }

    /// The same folder for one shard.
    /// - Parameter number: counted from 1.
    public func shard(_ number: Int) -> OutputFolder {
        var folder = self
        folder.shard = number
        return folder
    }

    /// The same folder for the whole batch.
    public var whole: OutputFolder {
        var folder = self
        folder.shard = nil
        return folder
    }
}
