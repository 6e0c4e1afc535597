import Foundation
public import NocturneJournal
import NocturneOutput
import NocturneSystem

extension JournalSetting<[String]> {
    /// Digests of the keys of items that were removed, and that no later run processes.
    package static var removedItems: Self { Self(json: "removed") }
}

extension JournalSetting<ItemRemoval.Traces> {
    /// Items of a removal that has begun: what must no longer be found when it is done. Nil when none is under way.
    static var unfinishedRemoval: Self { Self(json: "unfinishedRemoval", names: { Array($0.names) }) }
}

/// Removes items from a batch with everything that is known of them: results, journal, tables, events, page, logs.
public struct ItemRemoval: Sendable {
    /// What a removal has done, and what it could not do.
    public struct Outcome: Sendable {
        /// The names of the items that were removed.
        public let items: [String]
        /// Files in the output folder in which a path or fingerprint of them still stands, or a name, where the file is not of
        /// the batch's making; relative to it.
        public let remaining: [String]
    }

    /// What a removal deletes.
    public struct Extent: Sendable {
        /// The names of the items.
        public let items: [String]
        /// How many files are deleted with their folders, and their size.
        public let files: Int
        /// The sum of the sizes of these files.
        public let bytes: Int
        /// Those of them that are not of the batch's making, relative to the output folder.
        public let foreign: [String]
    }

    private let renewal: ReportRenewal
    private var output: OutputFolder { renewal.output }

    /// - Parameter renewal: writes the report without the items.
    public init(_ renewal: ReportRenewal) { self.renewal = renewal }

    /// The names of items of a removal that was interrupted: the next one completes it, whatever it is for.
    /// - Throws: ``BatchError``; `JournalError`.
    public func unfinished() async throws -> Set<String> {
        try await output.reading { try await $0.value(of: .unfinishedRemoval)?.names ?? [] }
    }

    /// What ``remove(_:)`` would delete. Nothing is changed.
    /// - Throws: ``BatchError``; `JournalError`.
    public func extent(of isWanted: @Sendable (JournalItem) -> Bool) async throws -> Extent {
        let (names, foreign) = try await output.reading { journal in
            let items = try await journal.items().filter(isWanted)
            var foreign: [String] = []
            for item in items {
                // run.json is not recorded.
                let own = Set(try await journal.writtenFiles(of: item.id).map(\.path) + ["run.json"])
                foreign += FileSystem.tree(below: output.item(item.name)).filter { !own.contains($0) }
                    .map { "\(item.name)/\($0)" }
            }
            return (Set(items.map(\.name)).union(try await journal.value(of: .unfinishedRemoval)?.names ?? []), foreign)
        }
        let sizes: [Int] = names.flatMap(folders).flatMap { folder -> [Int] in
            // A link in place of a folder is removed, not what is at its end.
            guard FileSystem.kind(folder) == .folder else { return [] }
            return FileSystem.files(below: folder).compactMap { FileSystem.size(folder + "/" + $0) }
        }
        return Extent(items: names.sorted(), files: sizes.count, bytes: sizes.reduce(0, +), foreign: foreign.sorted())
    }

    /// Removes items. When it is interrupted, it can be repeated: the journal has their traces until the report is written
    /// without them.
    /// - Parameter isWanted: which items.
    /// - Throws: ``BatchError`` with `outputInUse` while a run is active, with `unknownItem` for no item; `JournalError`;
    ///   `FileSystemError`.
    public func remove(_ isWanted: @Sendable (JournalItem) -> Bool) async throws -> Outcome {
        var (others, traces) = ([JournalItem](), Traces())
        _ = try await renewal.write { journal in
            let items = try await journal.items()
            let removed = items.filter(isWanted)
            let earlier = try await journal.value(of: .unfinishedRemoval)
            guard !removed.isEmpty || earlier != nil else {
                throw BatchError(
                    .unknownItem,
                    path: output.path,
                    detail: "the batch has no such item; nothing was removed"
                )
            }
            others = items.filter { !isWanted($0) }
            traces = Self.traces(removed, others: others)
            if let earlier { traces = traces.union(earlier) }
            // Before anything is removed: an interrupted removal can only be completed by what is recorded of it.
            try await journal.set(.unfinishedRemoval, to: traces)
            let digests = removed.map { Self.digest($0.key) }
            let known = try await journal.value(of: .removedItems) ?? []
            try await journal.set(.removedItems, to: Array(Set(known + digests)).sorted())
            // A later item may have got the name of one that an interrupted removal has taken out of the journal.
            for name in traces.names.subtracting(others.map(\.name)).sorted() { try removeFiles(of: name) }
            try removeLines(traces)
            try await removeSettings(journal, removed, others: others)
            try await journal.remove(removed)
        }
        try await forgetTraces()
        return Outcome(items: traces.names.sorted(), remaining: remaining(traces, others))
    }

    /// The journal keeps nothing of items once no file names them.
    private func forgetTraces() async throws {
        try await output.changing { journal in
            try await journal.remove(.unfinishedRemoval)
            try await journal.rewriteFile()
        }
    }

    /// What the journal keeps of an item that was removed: it reveals nothing to a person who does not know the item.
    package static func digest(_ key: String) -> String { ContentDigest.of("removed " + key).hex }

    /// A path or fingerprint that other items share does not identify those that are removed: a result that was withdrawn has that of the
    /// item that took its place.
    package static func traces(_ items: [JournalItem], others: [JournalItem]) -> Traces {
        let (paths, fingerprints) = (Set(others.map(\.path)), Set(others.map(\.fingerprint)))
        let own = items.map(\.path).filter { path in
            !paths.contains(path) && !paths.contains { $0.hasPrefix(path + "/") }
        }
        let marks = items.map(\.fingerprint).filter { !fingerprints.contains($0) }
        return Traces(names: items.map(\.name), marks: marks + own)
    }

    /// Searches every byte. What the batch has written of other items may have names as ordinary words.
    private func remaining(_ traces: Traces, _ others: [JournalItem]) -> [String] {
        let own = Set(OutputFolder.reportNames + others.map(\.name) + [".nocturne"])
        return FileSystem.files(below: output.path).filter { path in
            let isOwn = path.split(separator: "/").first.map { own.contains(String($0)) } ?? false
            if !isOwn, traces.occur(in: Array(path.utf8)) { return true }
            // A file that cannot be read may hold anything.
            return (try? traces.occur(inFile: output.path + "/" + path, marksOnly: isOwn)) ?? true
        }
    }

    /// - Throws: ``BatchError`` for the first file that stays, after everything else is gone.
    private func removeFiles(of name: String) throws(BatchError) {
        if let left = folders(of: name).compactMap({ FileSystem.remove($0) }).first {
            throw BatchError(notRemoved: left)
        }
    }

    /// Every folder that may hold files of an item.
    private func folders(of name: String) -> [String] {
        let hidden = FileSystem.entries(output.hidden).filter {
            $0 == "replaced" || $0.hasPrefix(OutputFolder.firstStaging)
        }
        return [output.item(name), output.kept + "/" + name, output.edits + "/" + name]
            + hidden.map { "\(output.hidden)/\($0)/\(name)" }
    }

    /// From events and logs, which are lists of lines.
    private func removeLines(_ traces: Traces) throws(FileSystemError) {
        let logs = [output.log] + FileSystem.entries(output.taskLogs).map { output.taskLogs + "/" + $0 }
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

    /// Takes inputs of removed items alone out of the description: a file, or a folder in which no other item lies, such as that
    /// of a person.
    private func removeSettings(_ journal: Journal, _ items: [JournalItem], others: [JournalItem]) async throws {
        let paths = Set(items.map(\.path))
        func isRemoved(_ input: String) -> Bool {
            paths.contains { FileSystem.isWithin($0, input) }
                && !others.contains { FileSystem.isWithin($0.path, input) }
        }
        if var description = try await journal.value(of: .batchDescription),
            description.inputs.contains(where: isRemoved)
        {
            description.inputs.removeAll(where: isRemoved)
            try await journal.set(.batchDescription, to: description)
        }
        try await journal.changeCrashes {
            $0.crashingFiles = CrashingFiles()
            $0.unresponsiveFiles.removeAll(where: paths.contains)
        }
    }
}
