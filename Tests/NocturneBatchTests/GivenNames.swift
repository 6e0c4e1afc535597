import NocturneBatch
import NocturneJournal
import NocturneOutput

/// The names that new items get in a batch, as the reconciliation gives them, without an output folder.
struct GivenNames {
    private(set) var names: [String] = []
    private(set) var notes: [String] = []

    /// - Parameters:
    ///   - items: below the input `/in`.
    ///   - known: items of earlier runs, with the names that they have.
    ///   - foreign: what lies in the output folder.
    init(
        _ items: [DiscoveredItem],
        known: [(DiscoveredItem, name: String)] = [],
        foreign: Set<String> = [],
        _ identifiers: IdentifierPolicy = .hash
    ) async throws {
        let journal = try await Journal.temporary()
        let table = journal.found
        try table.begin()
        try await journal.record(
            known.map { JournalEntry($0, name: $1, state: .completed) }
        )
        try table.add(items)
        try table.order()
        let wanted = ItemNames(table, identifiers, below: ["/in"])
        try wanted.find()
        var alternatives = ItemNames.Alternatives(wanted, foreign: foreign)
        for candidate in try table.candidates(after: 0) {
            if let before = candidate.before {
                names.append(before.name)
            } else if let preferred = candidate.preferredName {
                let (name, note) = try alternatives.name(
                    of: candidate.item,
                    preferred: preferred.name,
                    isFree: preferred.isFree
                )
                names.append(name)
                if let note { notes.append(note) }
            }
        }
    }
}
