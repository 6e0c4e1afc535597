package import NocturneJournal
public import NocturneOutput
import NocturneReport
import NocturneSystem

/// Divides a batch into shards: writes a journal for each, with its items as discovery found them.
public struct Division: Sendable {
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
    ///   - planned: the journal that has all that was found, and which items are divided.
    ///   - count: of shards; there are at most as many as items.
    /// - Throws: ``BatchError`` when the folder holds a batch or files of the user; `JournalError`; `FileSystemError`. Nothing
    ///   is left in the folder then.
    package func begin(in planned: Journal, count: Int) async throws -> ShardPlan {
        try output.checkHoldsNoBatch()
        try output.checkReportsAreOwn()
        try output.create()
        let lock = try BatchLock(output)
        defer { withExtendedLifetime(lock) {} }
        let new = output.journal + ".part"
        let newFiles = ["", "-wal", "-shm"].map { new + $0 }
        do {
            let plan = try await writeShards(of: planned, count: count)
            for path in newFiles { FileSystem.remove(path) }
            try await Journal.with(path: new) { journal in
                try await journal.set(.batchDescription, to: description)
                try await journal.set(.shardPlan, to: plan)
                try await Self.copyRanges(from: planned, to: journal)
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
    package func again(in planned: Journal, count: Int) async throws -> ShardPlan {
        // No run may begin while the batch is divided.
        let lock = try BatchLock(output)
        defer { withExtendedLifetime(lock) {} }
        let plan = try await writeShards(of: planned, count: count)
        // Only the events from before the first division are kept.
        if FileSystem.exists(output.events), !FileSystem.exists(output.earlierEvents) {
            try FileSystem.makeFolder(output.taskLogs, mode: 0o700)
            try FileSystem.copy(output.events, to: output.earlierEvents)
        }
        let edits = try await planned.edits()
        try await Journal.with(path: output.journal) { journal in
            // Some hundred at a time: the texts of a series have tens of kilobytes.
            var (entries, last) = try await planned.dividedEntries(after: 0, limit: 256)
            while !entries.isEmpty {
                // Before the entries, whose fingerprints they have in the plan: a crash leaves items that are found changed.
                for entry in entries { if let edit = edits[entry.name] { try await journal.keep(edit) } }
                try await journal.record(entries)
                (entries, last) = try await planned.dividedEntries(after: last, limit: 256)
            }
            try await journal.set(.shardPlan, to: plan)
            try await Self.copyRanges(from: planned, to: journal)
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

    private static func copyRanges(from planned: Journal, to journal: Journal) async throws {
        guard let ranges = try await planned.value(of: .referenceRanges) else { return }
        try await journal.set(.referenceRanges, to: ranges)
    }

    private func writeShards(of planned: Journal, count: Int) async throws -> ShardPlan {
        // Made under another name and moved at the end: shards are there completely or not at all.
        let part = output.shards + ".part"
        if let left = FileSystem.remove(output.shards) { throw BatchError(notRemoved: left) }
        try FileSystem.makeEmptyFolder(part, mode: 0o700)
        let count = max(min(count, try planned.found.divisionTotal().items), 1)
        var packing = Packing(shards: count)
        try planned.found.divide { packing.next($0) }
        var shards: [ShardPlan.Shard] = []
        for number in 1...count {
            let folder = "\(part)/\(number)"
            try FileSystem.makeFolder(folder, mode: 0o700)
            let journal = folder + "/journal.sqlite"
            try await Journal.with(path: journal) { own in
                try await own.set(.batchDescription, to: description)
                // For --stop-when outside=.
                try await Self.copyRanges(from: planned, to: own)
            }
            try await planned.copyItems(of: number, to: journal)
            let total = try planned.found.divisionTotal(of: number)
            // A task has to have the memory for its largest item.
            let (items, seconds, bytes) = (total.items, total.seconds, total.bytes)
            shards.append(ShardPlan.Shard(number: number, items: items, seconds: seconds, bytes: bytes))
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
