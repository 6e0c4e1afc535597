package import NocturneJournal
public import NocturneOutput
import NocturneReport
import NocturneSystem

/// Divides a batch into shards: writes a journal for each, with its items as discovery found them.
public struct Division: Sendable {
    /// An item that is to be processed, with what is predicted for it.
    package struct Item: Sendable {
        /// In the order of discovery.
        package let place: Int64
        /// The predicted processing time on this machine.
        package let seconds: Double
        /// Peak memory of the process while it is processed.
        package var bytes: Int

        /// - Parameters:
        ///   - place: in the order of discovery.
        ///   - seconds: predicted, 0 or more.
        ///   - bytes: predicted peak memory of the process.
        package init(at place: Int64, seconds: Double, bytes: Int) {
            self.place = place
            self.seconds = seconds
            self.bytes = bytes
        }
    }

    private let output: OutputFolder
    private let description: BatchDescription
    private let threads: Int

    /// - Parameter threads: those that the seconds of items are for.
    public init(_ output: OutputFolder, _ description: BatchDescription, threads: Int) {
        self.output = output
        self.description = description
        self.threads = threads
    }

    /// Begins a batch that is divided.
    /// - Parameters:
    ///   - items: what is to be processed.
    ///   - planned: the journal that has all that was found.
    ///   - count: of shards.
    /// - Throws: ``BatchError`` when the folder holds a batch or files of the user; `JournalError`; `FileSystemError`. Nothing
    ///   is left in the folder then.
    package func begin(
        _ items: [Item],
        in planned: Journal,
        count: Int
    ) async throws -> ShardPlan {
        try output.checkHoldsNoBatch()
        try output.checkReportsAreOwn()
        try output.create()
        let lock = try BatchLock(output)
        defer { withExtendedLifetime(lock) {} }
        let new = output.journal + ".part"
        let newFiles = ["", "-wal", "-shm"].map { new + $0 }
        do {
            let plan = try await writeShards(items, in: planned, count: count)
            for path in newFiles { FileSystem.remove(path) }
            try await Journal.with(path: new) { journal in
                try await journal.set(.batchDescription, to: description)
                try await journal.set(.shardPlan, to: plan)
            }
            // In the order of discovery, as a run on one machine has them.
            try await planned.copyItems(to: new)
            try await writeEvents(of: planned)
            try FileSystem.move(new, to: output.journal)
            return plan
        } catch {
            for path in newFiles + [output.shards, output.shards + ".part", output.taskLogs] { FileSystem.remove(path) }
            throw error
        }
    }

    /// Divides a batch again whose shards were merged: items that did not complete are tried again.
    /// - Throws: ``BatchError`` while a run is active; `JournalError`; `FileSystemError`.
    package func again(
        _ items: [Item],
        in planned: Journal,
        count: Int
    ) async throws -> ShardPlan {
        // No run may begin while the batch is divided.
        let lock = try BatchLock(output)
        defer { withExtendedLifetime(lock) {} }
        let plan = try await writeShards(items, in: planned, count: count)
        // Only the events from before the first division are kept.
        if FileSystem.exists(output.events), !FileSystem.exists(output.earlierEvents) {
            try FileSystem.makeFolder(output.taskLogs, mode: 0o700)
            try FileSystem.copy(output.events, to: output.earlierEvents)
        }
        let edits = try await planned.edits()
        try await Journal.with(path: output.journal) { journal in
            // Some hundred at a time: the texts of a series have tens of kilobytes.
            for start in stride(from: 0, to: items.count, by: 256) {
                let entries = try await planned.entries(at: items[start...].prefix(256).map(\.place))
                // Before the entries, whose fingerprints they have in the plan: a crash leaves items that are found changed.
                for entry in entries { if let edit = edits[entry.name] { try await journal.keep(edit) } }
                try await journal.record(entries)
            }
            try await journal.set(.shardPlan, to: plan)
        }
        return plan
    }

    /// Writes the events of items that have ended without being processed, as a run on one machine has them: those of no shard.
    private func writeEvents(of planned: Journal) async throws {
        let counts = BatchCounts(try await planned.stateCounts())
        guard counts.failed + counts.skipped > 0 else { return }
        try FileSystem.makeFolder(output.taskLogs, mode: 0o700)
        let file = try ReplacementFile(for: output.earlierEvents)
        try await planned.forEachPart { records, _ in
            var lines: [UInt8] = []
            for item in records.map(\.item) where [.failed, .skipped].contains(item.state) {
                let kind = item.state == .failed ? BatchEvent.Kind.itemFailed : .itemSkipped
                var event = BatchEvent(kind, item: item.name, because: item.reason)
                event.time = SystemTime().wallClock.timestamp
                (event.done, event.failed) = (counts.failed, counts.failed)
                event.total = counts.inputs - counts.skipped
                lines += try StableJSON.encodeLine(event)
            }
            try file.write(lines)
        }
        try file.putInPlace()
    }

    private func writeShards(
        _ items: [Item],
        in planned: Journal,
        count: Int
    ) async throws -> ShardPlan {
        // Made under another name and moved at the end: shards are there completely or not at all.
        let part = output.shards + ".part"
        if let left = FileSystem.remove(output.shards) { throw BatchError(notRemoved: left) }
        try FileSystem.makeEmptyFolder(part, mode: 0o700)
        let packed = Packing.shards(of: items.map(\.seconds), count: count)
        var shards: [ShardPlan.Shard] = []
        for (place, members) in packed.enumerated() {
            let number = place + 1
            // Shards are numbered from 1, as tasks of an array usually are.
            let own = members.map { items[$0] }
            let folder = "\(part)/\(number)"
            try FileSystem.makeFolder(folder, mode: 0o700)
            let journal = folder + "/journal.sqlite"
            try await Journal.with(path: journal) { try await $0.set(.batchDescription, to: description) }
            try await planned.copyItems(at: own.map(\.place), to: journal)
            shards.append(
                ShardPlan.Shard(
                    number: number,
                    items: own.count,
                    seconds: own.reduce(0) { $0 + $1.seconds },
                    // A task has to have the memory for its largest item.
                    bytes: own.map(\.bytes).max() ?? 0
                )
            )
        }
        try FileSystem.move(part, to: output.shards)
        // Before the plan is recorded, which refers to the shards.
        try FileSystem.flush(output.shards)
        return ShardPlan(
            shards: shards,
            version: description.version,
            instructionSet: description.instructionSet,
            threads: threads
        )
    }
}

extension OutputFolder {
    /// Events of the batch from before it was divided.
    var earlierEvents: String { taskLogs + "/earlier-events.jsonl" }

    /// - Throws: ``BatchError`` for a folder that holds a batch.
    public func checkHoldsNoBatch() throws(BatchError) {
        guard holdsBatch else { return }
        throw BatchError(
            .outputInUse,
            path: path,
            detail: "holds a batch already: choose another output folder, or continue that one with `nocturne resume`"
        )
    }
}
