import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneSystem

extension FaultCode {
    /// Its result was removed, since it was older than those that a watch keeps.
    static let expired = FaultCode("item", "expired")
}

extension JournalSetting<[String]> {
    /// Names of items whose results are being removed, until their folders are gone.
    fileprivate static var expiringItems: Self { Self(json: "expiringItems") }
}

/// Removes results that a watch does not keep. Sources, and results that somebody has edited or added files to, are never removed; once
/// reviewers have marked any result of the batch, nor are those without a mark.
///
/// The journal has an item as skipped before its folder is removed, and the names of such items until that is done: a run that is killed
/// meanwhile leaves the rest to the next one.
struct ExpiredResults {
    let context: RunContext
    let retention: Retention

    /// How many are looked at, and removed, at a time.
    private static let itemsAtOnce = 64

    /// - Throws: `JournalError`.
    func remove() async throws {
        let journal = context.journal
        try await removeFolders(try await journal.value(of: .expiringItems) ?? [])
        let older = retention.older(of: try await journal.items(in: .completed), at: context.time.wallClock)
        guard !older.isEmpty else { return }
        let (edits, marks) = (try await journal.edits(), try await journal.marks())
        let marked = Set(marks.current(for: older).map(\.item))
        let removable = older.filter { edits[$0.name] == nil && (marks.isEmpty || marked.contains($0.name)) }
        var count = 0
        for start in stride(from: 0, to: removable.count, by: Self.itemsAtOnce)
        where context.control.mode != .cancelled {
            let items = try await unchanged(Array(removable[start...].prefix(Self.itemsAtOnce)))
            try await expire(items)
            count += items.count
        }
        if count > 0 {
            let results = count == 1 ? "The oldest result was" : "The \(count) oldest results were"
            await context.progress.note("\(results) removed (--keep \(retention)).")
        }
    }

    /// The items whose folders hold the files of the result as they were written, and nothing else.
    private func unchanged(_ items: [JournalItem]) async throws -> [JournalItem] {
        var found: [JournalItem] = []
        for item in items {
            let written = try await context.journal.writtenFiles(of: item.id)
            let folder = ResultFolder(context.output.item(item.name))
            let foreign = await context.blocking.run { try? folder.foreignEntries(written: written) }
            if foreign?.isEmpty == true { found.append(item) }
        }
        return found
    }

    private func expire(_ items: [JournalItem]) async throws {
        guard !items.isEmpty else { return }
        let reason = ItemReason(
            .expired,
            "the result was removed, since --keep \(own: "\(retention)") keeps newer ones"
        )
        let time = context.time.wallClock.timestamp
        try await context.journal.set(.expiringItems, to: items.map(\.name))
        // With nothing of what the results held.
        try await context.journal.merge(
            items.map { item in
                var item = item
                (item.state, item.reason, item.changed) = (.skipped, reason, time)
                return ItemRecord(item)
            }
        )
        try await removeFolders(items.map(\.name))
        for item in items { await context.progress.emit(BatchEvent(.itemSkipped, item: item.name, because: reason)) }
    }

    /// - Parameter names: of items that are removed, unless the run ended before the journal had them as such.
    private func removeFolders(_ names: [String]) async throws {
        guard !names.isEmpty else { return }
        let expired = try await context.journal.items(named: names).values.filter { $0.reason?.code == .expired }
        let left = await context.blocking.run { [output = context.output] in
            expired.compactMap { FileSystem.remove(output.item($0.name)) }
        }
        for fault in left { await context.progress.note("\(fault.path) cannot be removed: \(errnoText(fault.code))") }
        try await context.journal.remove(.expiringItems)
    }
}
