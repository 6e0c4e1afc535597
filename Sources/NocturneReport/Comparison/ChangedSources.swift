package import NocturneJournal
package import NocturneOutput
import NocturneSystem

/// The items of two batches whose source files changed between them, by the sizes and times that the journals have.
package enum ChangedSources {
    private static let pairsAtOnce = 100

    /// The names of the pairs whose source differs, in their order. Pairs of which a journal has no files, such as those of divided
    /// batches, are not among them.
    /// - Throws: `JournalError`; ``BatchError`` for a batch of another user.
    package static func names(
        of pairs: [BatchComparison.Pair],
        _ first: OutputFolder,
        _ second: OutputFolder
    ) async throws -> [String] {
        try await first.reading { own in
            try await second.reading { other in
                var changed: [String] = []
                // A series has hundreds of files: those of some pairs at a time are in memory.
                for start in stride(from: 0, to: pairs.count, by: pairsAtOnce) {
                    let part = pairs[start..<min(start + pairsAtOnce, pairs.count)]
                    let files = try await own.discovered(part.map(\.first.id))
                    let others = try await other.discovered(part.map(\.second.id))
                    for pair in part {
                        let (before, after) = (files[pair.first.id]?.inputs ?? [], others[pair.second.id]?.inputs ?? [])
                        if differ(before, after, at: pair.first.path) { changed.append(pair.name) }
                    }
                }
                return changed
            }
        }
    }

    /// Whether a file that both have has another size or time, or only one of them has a file of the source. Other files, such as
    /// references, depend on the options.
    /// - Parameter path: of the item: its file, or the folder of its files.
    package static func differ(_ first: [InputStamp], _ second: [InputStamp], at path: String) -> Bool {
        guard !first.isEmpty, !second.isEmpty else { return false }
        func states(_ stamps: [InputStamp]) -> [String: FileState?] {
            Dictionary(stamps.map { ($0.path, $0.state) }) { first, _ in first }
        }
        let (own, others) = (states(first), states(second))
        func isOfSource(_ file: String) -> Bool { file == path || file.hasPrefix(path + "/") }
        return own.contains { file, state in others[file].map { $0 != state } ?? isOfSource(file) }
            || others.keys.contains { own[$0] == nil && isOfSource($0) }
    }
}
