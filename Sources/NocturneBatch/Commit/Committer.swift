import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// An item whose files are all written, waiting to be made real.
struct PendingCommit: Sendable {
    let id: Int64
    let name: String
    /// The complete folder in staging.
    let folder: String
    let product: ItemProduct
}

/// Makes written items real: flush, rename into place, flush the parent, journal.
///
/// Items that arrive while a commit is under way wait, and go together in the next one: one flush of the disk and one
/// transaction of the journal for all of them. Each call returns when its item is durable.
actor Committer {
    private let output: OutputFolder
    private let blocking: BlockingPool
    private let record: @Sendable ([PendingCommit]) async throws -> Void
    private var waiting: [(commit: PendingCommit, continuation: CheckedContinuation<Void, any Error>)] = []
    private var busy = false
    /// Items whose folders are in their places, until their commit has ended: putting one there again would bring back
    /// what it took the place of.
    private nonisolated let inPlace = Mutex<Set<Int64>>([])

    /// - Parameter record: journals the items as completed, durably, in one transaction.
    init(
        output: OutputFolder,
        blocking: BlockingPool,
        record: @escaping @Sendable ([PendingCommit]) async throws -> Void
    ) {
        self.output = output
        self.blocking = blocking
        self.record = record
    }

    func commit(_ commit: PendingCommit) async throws {
        try await withCheckedThrowingContinuation { continuation in
            waiting.append((commit, continuation))
            guard !busy else { return }
            busy = true
            Task { await self.drain() }
        }
    }

    private func drain() async {
        while !waiting.isEmpty {
            let group = waiting
            waiting = []
            do {
                try await publish(group.map(\.commit))
                for entry in group { end(entry) }
            } catch {
                await settleSingly(group, after: error)
            }
        }
        busy = false
    }

    /// A fault in a group may be one item's alone: each is tried again by itself, so that the others get through.
    private func settleSingly(
        _ group: [(commit: PendingCommit, continuation: CheckedContinuation<Void, any Error>)],
        after error: any Error
    ) async {
        if group.count == 1 { return end(group[0], error) }
        for entry in group {
            do {
                try await publish([entry.commit])
                end(entry)
            } catch {
                end(entry, error)
            }
        }
    }

    private func end(
        _ entry: (commit: PendingCommit, continuation: CheckedContinuation<Void, any Error>),
        _ error: (any Error)? = nil
    ) {
        inPlace.withLock { _ = $0.remove(entry.commit.id) }
        if let error { entry.continuation.resume(throwing: error) } else { entry.continuation.resume() }
    }

    private func publish(_ group: [PendingCommit]) async throws {
        let output = output
        try await blocking.run { [self] in
            // Of an attempt that failed half-way, some may be in their places already.
            let placed = inPlace.withLock { $0 }
            let staged = group.filter { !placed.contains($0.id) && FileSystem.exists($0.folder) }
            if staged.count == 1 {
                try flushOneByOne(staged[0].folder)
            } else if staged.count > 1 {
                try FileSystem.flushAll(holding: output.staging)
            }
            try FaultPoint.itemStaged.pass()
            for commit in staged {
                let final = output.item(commit.name)
                // Only a result may be replaced: anything else that lies there is somebody's.
                let isFree = FileSystem.kind(final) == .nothing
                if !isFree, !output.holdsResult(commit.name) {
                    throw FileSystemError(operation: "replace what is no result of Nocturne", path: final, code: EEXIST)
                }
                try FileSystem.putInPlace(commit.folder, at: final, movingOldTo: commit.folder + ".old")
                inPlace.withLock { _ = $0.insert(commit.id) }
                FileSystem.remove(commit.folder + ".old")
            }
            try FileSystem.flush(output.path)
            try FaultPoint.itemInPlace.pass()
        }
        try await record(group)
        await blocking.run {
            for commit in group { FileSystem.remove(output.staging(commit.name)) }
        }
    }
}

/// Flushes every file and folder of an item.
private func flushOneByOne(_ folder: String) throws(FileSystemError) {
    var folders: Set<String> = []
    for file in FileSystem.files(below: folder) {
        try FileSystem.flush(folder + "/" + file)
        var parent = file
        while let slash = parent.lastIndex(of: "/") {
            parent = String(parent[..<slash])
            folders.insert(parent)
        }
    }
    for inner in folders.sorted() { try FileSystem.flush(folder + "/" + inner) }
    try FileSystem.flush(folder)
}
