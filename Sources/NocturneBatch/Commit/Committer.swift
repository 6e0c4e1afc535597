import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// Publishes written items: performs on the blocking pool what ``CommitStateMachine`` decides, journals them, and reports
/// their ends to the scheduler.
///
/// Items that arrive while a commit is under way wait, and go together in the next one. There is no task behind this: the
/// first that comes performs the commits of all that come meanwhile, so nothing is left half-way when the caller's task is
/// cancelled.
actor Committer {
    private struct Entry {
        let message: StageMessage<ItemProduct>
        let start: Duration
        /// Resumed when the item has ended; nil for the caller that performs the commits.
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let output: OutputFolder
    private let journal: Journal
    private let environment: StageEnvironment
    private var machine = CommitStateMachine<Int64>()
    private var entries: [Int64: Entry] = [:]
    private var isPerforming = false

    init(output: OutputFolder, journal: Journal, environment: StageEnvironment) {
        self.output = output
        self.journal = journal
        self.environment = environment
    }

    /// Commits an item whose files are all in staging. Returns once it has ended: completed, failed or interrupted.
    func commit(_ message: StageMessage<ItemProduct>) async {
        let item = message.item
        guard !item.flag.isCancelled else {
            return await environment.end(item, .interrupted, seconds: message.seconds)
        }
        environment.stalls?.enter(item, .write)
        entries[item.id] = Entry(message: message, start: environment.time.monotonic)
        machine.add(item.id)
        if isPerforming {
            await withCheckedContinuation { entries[item.id]?.waiter = $0 }
        } else {
            isPerforming = true
            await performAll()
            isPerforming = false
        }
    }

    private func performAll() async {
        while true {
            let action = machine.next()
            if case .wait = action { return }
            do {
                try await perform(action)
                for id in machine.succeeded() { await end(id, nil) }
            } catch {
                for id in machine.failed() { await end(id, error) }
            }
        }
    }

    private func perform(_ action: CommitStateMachine<Int64>.Action) async throws {
        let output = output
        switch action {
        case .wait: break
        case .flush(let ids):
            let items = ids.compactMap { entries[$0]?.message.item }
            let folders = items.map { (path: $0.stagedResult, name: $0.item.name) }
            // Results on another disk are copied, and flushed one by one. On this one a single item has its few files flushed, and
            // a group the whole file system, with one wait.
            try await environment.blocking.run {
                if output.work != nil {
                    for folder in folders { try output.bring(folder.path, as: folder.name) }
                } else if folders.count == 1 {
                    try ResultFolder(folders[0].path).flush()
                } else {
                    try FileSystem.flushAll(holding: output.staging)
                }
                try FaultPoint.itemStaged.pass()
            }
        case .place(let id):
            guard let item = entries[id]?.message.item else { return }
            // Asked before each rename: another run may have taken the folder since the last one.
            try await environment.health.checkHold()
            try await place(item)
        case .flushParent:
            try await environment.blocking.run {
                try FileSystem.flush(output.path)
                try FaultPoint.itemInPlace.pass()
            }
        case .record(let ids):
            let products = ids.compactMap { id in entries[id].map { (id: id, product: $0.message.payload) } }
            try await journal.complete(products, at: environment.time.wallClock.timestamp)
        case .cleanUp(let ids):
            let names = ids.compactMap { entries[$0]?.message.item.item.name }
            for note in await environment.blocking.run({ names.flatMap { output.cleanUp($0) } }) {
                await environment.progress.note(note)
            }
        }
    }

    /// Renames an item's folder into its place. What is there by then is replaced if it is proven to be a result of this
    /// item, and files in it that were not written by Nocturne are kept.
    private func place(_ item: ActiveItem) async throws {
        let output = output
        let name = item.item.name
        let folder = output.work == nil ? item.stagedResult : output.arrived(name)
        let put = { @Sendable (recorded: [ItemFile]) throws -> [String] in
            try output.putInPlace(folder, as: name, recorded: recorded)
        }
        if let lost = try await keepAdditions(of: item.item, to: folder) { await environment.progress.note(lost) }
        // Nearly always nothing is there, and one change of threads does.
        var notes = try await environment.blocking.run {
            FileSystem.kind(output.item(name)) == .nothing ? try put([]) : nil
        }
        if notes == nil {
            let recorded = try await journal.writtenFiles(of: item.id)
            notes = try await environment.blocking.run { try put(recorded) }
        }
        for note in notes ?? [] { await environment.progress.note(note) }
    }

    /// Lets marks and imported texts of the result that is in place belong to an equal one that is about to replace it. Before the
    /// replacement: if the process ends in between, the item is made again with the fingerprint that they have by then.
    /// - Parameter folder: of the new result.
    /// - Returns: a note about those that do not belong to the new result, also where nothing is in place.
    private func keepAdditions(of item: RecipeItem, to folder: String) async throws -> String? {
        let (place, name) = (output.item(item.name), item.name)
        guard try await journal.additionCount(of: name, besides: item.fingerprint) > 0 else { return nil }
        let equal = await environment.blocking.run {
            let old = ResultFolder(place)
            return old.isEqual(to: ResultFolder(folder)) ? old.fingerprint : nil
        }
        if let equal { try await journal.moveAdditions(of: name, from: equal, to: item.fingerprint) }
        return try await journal.noteOnLostAdditions(of: name, besides: item.fingerprint)
    }

    private func end(_ id: Int64, _ error: (any Error)?) async {
        guard let entry = entries.removeValue(forKey: id) else { return }
        let message = entry.message
        var seconds = message.seconds
        // With the time of the whole group: the flush cannot be divided among its items.
        seconds[.write, default: 0] += (environment.time.monotonic - entry.start).inSeconds
        if let error {
            await environment.end(message.item, in: .write, with: error, seconds: seconds)
        } else {
            await environment.end(message.item, .completed(message.payload), seconds: seconds)
        }
        entry.waiter?.resume()
    }
}

extension Journal {
    /// - Returns: nil where all marks and imported texts of an item belong to this result.
    func noteOnLostAdditions(of item: String, besides fingerprint: String) throws(JournalError) -> String? {
        let count = try additionCount(of: item, besides: fingerprint)
        guard count > 0 else { return nil }
        let additions = counted(count, "mark or imported text", plural: "marks and imported texts")
        return "\(item): the new result does not have \(additions) of earlier ones; look at it, mark it and import "
            + "texts again"
    }
}
