import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneSystem

extension JournalSetting<[String]> {
    /// Names of items whose files are being removed, until that is done. Their items stay in the journal, unlike those of `forget`.
    fileprivate static var expiringItems: Self { Self(json: "expiringItems") }
}

/// Removes results that a watch does not keep, or what shows them. Sources, and results that somebody has edited or added files to, are
/// left as they are; once reviewers have marked any result of the batch, so are those without a mark.
///
/// The journal has an item without its files before they are removed, and the names of such items until that is done: a run that is
/// killed meanwhile leaves the rest to the next one.
struct ExpiredResults {
    let context: RunContext
    let retention: Retention
    /// What results lose; empty where they are removed as a whole.
    let drops: Set<DisplayFiles>

    /// How many are looked at, and removed, at a time.
    private static let itemsAtOnce = 64

    /// - Throws: `JournalError`.
    func remove() async throws {
        let journal = context.journal
        // What a run before this one has not finished.
        try await removeFiles(of: try await journal.value(of: .expiringItems) ?? [])
        let reason = reason.text
        let older = retention.older(of: try await journal.items(in: .completed), at: context.time.wallClock)
            .filter { $0.reason?.text != reason }
        guard !older.isEmpty else { return }
        let (edits, marks) = (try await journal.edits(), try await journal.marks())
        let marked = Set(marks.current(for: older).map(\.item))
        let removable = older.filter { edits[$0.name] == nil && (marks.isEmpty || marked.contains($0.name)) }
        var count = 0
        for start in stride(from: 0, to: removable.count, by: Self.itemsAtOnce)
        where context.control.mode != .cancelled {
            let records = try await unchanged(removable[start...].prefix(Self.itemsAtOnce))
            try await expire(records)
            count += records.count
        }
        if count > 0 {
            let results = count == 1 ? "the oldest result" : "the \(count) oldest results"
            await context.progress.note(
                "Removed: \(drops.isEmpty ? "" : "\(dropped) of ")\(results) (--keep \(retention))."
            )
        }
    }

    private var dropped: String {
        DisplayFiles.allCases.filter(drops.contains).map(\.rawValue).joined(separator: " and ")
    }

    private var reason: ItemReason {
        drops.isEmpty
            ? ItemReason(.expired, "the result was removed, since --keep \(own: "\(retention)") keeps newer ones")
            : ItemReason(.thinned, "\(own: dropped) of the result were removed, since only newer ones keep them")
    }

    private func isRemoved(_ file: ItemFile) -> Bool { drops.isEmpty || drops.contains { $0.contains(file.path) } }

    /// The items whose folders hold the files of the result as they were written, and nothing else, where some are to be removed.
    private func unchanged(_ items: ArraySlice<JournalItem>) async throws -> [ItemRecord] {
        var found: [ItemRecord] = []
        // Every file is read.
        for item in items where context.control.mode != .cancelled {
            guard let record = try await context.journal.records(after: item.id - 1, limit: 1).first,
                record.item == item, record.written.files.contains(where: isRemoved)
            else { continue }
            let folder = ResultFolder(context.output.item(item.name))
            let foreign = await context.blocking.run { try? folder.foreignEntries(written: record.written.files) }
            if foreign?.isEmpty == true { found.append(record) }
        }
        return found
    }

    private func expire(_ records: [ItemRecord]) async throws {
        guard !records.isEmpty else { return }
        let (reason, time, names) = (reason, context.time.wallClock.timestamp, records.map(\.item.name))
        // The names first, then the items, then the files: whenever the process is killed, the next run knows what is left.
        try await context.journal.set(.expiringItems, to: names)
        try await context.journal.merge(
            records.map { record in
                var record = record
                record.item.reason = reason
                record.written.files.removeAll(where: isRemoved)
                if drops.isEmpty {
                    (record.item.state, record.item.changed) = (.skipped, time)
                    // With nothing of what the result held.
                    record.written = ItemProduct()
                }
                return record
            }
        )
        try await removeFiles(of: names)
        for name in drops.isEmpty ? names : [] {
            await context.progress.emit(BatchEvent(.itemSkipped, item: name, because: reason))
        }
    }

    /// - Parameter names: of items whose files are removed, unless the run ended before the journal had them as such.
    private func removeFiles(of names: [String]) async throws {
        guard !names.isEmpty else { return }
        var left: [FileSystemError] = []
        for item in try await context.journal.items(named: names).values {
            let folder = context.output.item(item.name)
            if item.reason?.code == .expired {
                left += await context.blocking.run { [FileSystem.remove(folder)].compactMap(\.self) }
            } else if item.reason?.code == .thinned {
                let kept = try await context.journal.writtenFiles(of: item.id)
                left += await context.blocking.run { ResultFolder(folder).removeFiles(but: kept) }
            }
        }
        for fault in left { await context.progress.note("\(fault.path) cannot be removed: \(errnoText(fault.code))") }
        try await context.journal.remove(.expiringItems)
    }
}
