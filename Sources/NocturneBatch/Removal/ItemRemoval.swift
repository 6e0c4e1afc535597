import Foundation
public import NocturneJournal
import NocturneSystem

extension JournalSetting<[String]> {
    /// Digests of the keys of items that were removed, and that no later run processes.
    static var removedItems: Self { Self(json: "removed") }
}

/// Removes items from a batch with everything that is known of them: results, journal, tables, events, page, logs.
public struct ItemRemoval: Sendable {
    public struct Outcome: Sendable {
        /// The names of the items that were removed.
        public let items: [String]
        /// Files in the output folder in which a path or fingerprint of them still stands, or a name, where the file is not of
        /// the batch's making; relative to it.
        public let remaining: [String]
    }

    private let output: OutputFolder
    private let renewal: ReportRenewal

    /// - Parameter summaries: what recipes write about all items, which is written again.
    public init(from output: OutputFolder, page: any BatchPage, summaries: [BatchSummary]) {
        self.output = output
        renewal = ReportRenewal(output, page: page, summaries: summaries)
    }

    /// Removes items. When it is interrupted, it can be repeated: the journal forgets them last.
    /// - Parameter isWanted: which items.
    /// - Throws: ``BatchError`` with `outputInUse` while a run is active, with `unknownItem` for no item; `JournalError`;
    ///   `FileSystemError`.
    public func remove(_ isWanted: @Sendable (JournalItem) -> Bool) async throws -> Outcome {
        var (removed, others, traces) = ([JournalItem](), [JournalItem](), ItemTraces())
        _ = try await renewal.write { journal, items in
            removed = items.filter(isWanted)
            guard !removed.isEmpty else {
                throw BatchError(
                    .unknownItem,
                    path: output.path,
                    detail: "the batch has no such item; nothing was removed"
                )
            }
            others = items.filter { !isWanted($0) }
            traces = Self.traces(removed, others: others)
            let digests = removed.map { Self.digest($0.key) }
            let known = try await journal.value(of: .removedItems) ?? []
            try await journal.set(.removedItems, to: Array(Set(known + digests)).sorted())
            for item in removed { removeFiles(of: item.name) }
            try removeLines(traces)
            try await removeSettings(journal, removed)
            try await journal.remove(removed)
        }
        return Outcome(items: removed.map(\.name), remaining: remaining(traces, others))
    }

    /// What the journal keeps of an item that was removed: it says nothing to people who do not know the item.
    static func digest(_ key: String) -> String { ContentDigest.of("removed " + key).hex }

    /// A path that other items share says nothing about those that are removed.
    private static func traces(_ items: [JournalItem], others: [JournalItem]) -> ItemTraces {
        let paths = Set(others.map(\.path))
        let own = items.map(\.path).filter { path in
            !paths.contains(path) && !paths.contains { $0.hasPrefix(path + "/") }
        }
        return ItemTraces(names: items.map(\.name), marks: items.map(\.fingerprint) + own)
    }

    /// Searches every byte. What the batch has written of other items may have names as ordinary words.
    private func remaining(_ traces: ItemTraces, _ others: [JournalItem]) -> [String] {
        let own = Set(OutputFolder.reportNames + others.map(\.name) + [".nocturne"])
        return FileSystem.files(below: output.path).filter { path in
            let isOwn = path.split(separator: "/").first.map { own.contains(String($0)) } ?? false
            if !isOwn, traces.occur(in: Array(path.utf8)) { return true }
            // A file that cannot be read may hold anything.
            return (try? traces.occur(inFile: output.path + "/" + path, marksOnly: isOwn)) ?? true
        }
    }

    private func removeFiles(of name: String) {
        FileSystem.remove(output.item(name))
        FileSystem.remove(output.kept + "/" + name)
        FileSystem.remove(output.edits + "/" + name)
        for folder in FileSystem.entries(output.hidden)
        where folder == "replaced" || folder.hasPrefix(StagingFolder.first) {
            FileSystem.remove("\(output.hidden)/\(folder)/\(name)")
        }
    }

    /// From events and logs, which are lists of lines.
    private func removeLines(_ traces: ItemTraces) throws(FileSystemError) {
        let logs = [output.hidden + "/log"] + FileSystem.entries(output.taskLogs).map { output.taskLogs + "/" + $0 }
        try removeLines(of: output.events, where: traces.occur(inEvent:))
        for log in logs { try removeLines(of: log, where: traces.occur(in:)) }
    }

    private func removeLines(of path: String, where isRemoved: ([UInt8]) -> Bool) throws(FileSystemError) {
        guard FileSystem.kind(path) == .file else { return }
        var lines = try LineReader(path)
        var isFound = false
        while !isFound, let line = try lines.next() { isFound = isRemoved(line) }
        guard isFound else { return }
        lines = try LineReader(path)
        let rest = try ReplacementFile(for: path)
        while let line = try lines.next() {
            if !isRemoved(line) { try rest.write(lines.isIncomplete ? line : line + [10]) }
        }
        try rest.putInPlace()
    }

    /// Takes inputs that consist of a removed item alone out of the description.
    private func removeSettings(_ journal: Journal, _ items: [JournalItem]) async throws {
        let paths = Set(items.map(\.path))
        if var description = try await journal.value(of: .batchDescription),
            description.inputs.contains(where: paths.contains)
        {
            description.inputs.removeAll(where: paths.contains)
            try await journal.set(.batchDescription, to: description)
        }
        try await journal.remove(.crashingFiles)
        if let files = try await journal.value(of: .unresponsiveFiles), files.contains(where: paths.contains) {
            try await journal.set(.unresponsiveFiles, to: files.filter { !paths.contains($0) })
        }
    }
}

extension Discovery {
    /// Leaves out items that were removed from the batch.
    mutating func leaveOut(removed digests: [String]) {
        guard !digests.isEmpty else { return }
        let removed = Set(digests)
        items.removeAll { removed.contains(ItemRemoval.digest($0.key)) }
    }
}
