public import NocturneJournal
public import NocturneSystem

/// Completed items with a verdict that still counts: the result has not changed since.
public struct ReviewedItems: Sendable {
    private let output: OutputFolder
    private let verdict: ReviewVerdict

    public init(in output: OutputFolder, marked verdict: ReviewVerdict) {
        self.output = output
        self.verdict = verdict
    }

    /// In the order of discovery.
    /// - Throws: `JournalError`.
    public func items(_ journal: Journal) async throws -> [JournalItem] {
        let marks = Dictionary(grouping: try await journal.marks().filter { $0.verdict == verdict }, by: \.item)
        return try await journal.items().filter { item in
            item.state == .completed && (marks[item.name] ?? []).contains { $0.fingerprint == item.fingerprint }
        }
    }

    /// Lets them wait, so that the next run processes them again. Their results stay until new ones replace them.
    /// - Returns: how many there are.
    /// - Throws: ``BatchError`` with `outputInUse` while a run is active; `JournalError`.
    public func processAgain(_ time: any TimeSource) async throws -> Int {
        let lock = try BatchLock(output)
        defer { withExtendedLifetime(lock) {} }
        return try await Journal.with(path: output.journal) { journal in
            let items = try await items(journal)
            let reason = ItemReason(.requested, "marked as \(verdict.rawValue) by a reviewer")
            try await journal.processAgain(items.map(\.id), reason: reason, at: time.wallClock.timestamp)
            // Without this file a result does not count as finished.
            for item in items { FileSystem.remove(output.item(item.name) + "/run.json") }
            return items.count
        }
    }
}
