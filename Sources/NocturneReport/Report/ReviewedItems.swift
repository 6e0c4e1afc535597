public import NocturneJournal
public import NocturneOutput
public import NocturneSystem

/// Completed items with a verdict that still counts: the result has not changed since.
public struct ReviewedItems: Sendable {
    private let output: OutputFolder
    private let verdict: ReviewVerdict

    /// - Parameter verdict: that somebody has given to the result as a whole, or to one of its objects.
    public init(in output: OutputFolder, marked verdict: ReviewVerdict) {
        self.output = output
        self.verdict = verdict
    }

    /// In the order of discovery.
    /// - Throws: `JournalError`.
    public func items(_ journal: Journal) async throws -> [JournalItem] {
        let marks = Dictionary(grouping: try await journal.marks().filter { $0.verdict == verdict }, by: \.item)
        let items = try await journal.items(named: Array(marks.keys)).values
        return items.filter { item in
            item.state == .completed && (marks[item.name] ?? []).contains { $0.fingerprint == item.fingerprint }
        }.sorted { $0.id < $1.id }
    }

    /// Lets them wait, so that the next run processes them again. Their results stay until new ones replace them.
    /// - Returns: how many there are.
    /// - Throws: ``BatchError`` with `outputInUse` while a run is active, or `outputUnwritable`; `JournalError`.
    public func processAgain(_ time: any TimeSource) async throws -> Int {
        try await output.changing { journal in
            let items = try await items(journal)
            let reason = ItemReason(.requested, "marked as \(own: verdict.rawValue) by a reviewer")
            // Without this file a result does not count as finished.
            for item in items {
                if let left = FileSystem.remove(output.item(item.name) + "/run.json") {
                    throw BatchError(notRemoved: left)
                }
            }
            try await journal.processAgain(items.map(\.id), reason: reason, at: time.wallClock.timestamp)
            return items.count
        }
    }
}
