import Foundation
package import NocturneJournal
import NocturneOutput
package import NocturneSystem

extension FoundTable {
    /// Fills the table with the items of a shard, as the plan has them. The inputs are not searched.
    ///
    /// A file that has changed since then makes its item fail: which items there are, and what they are called, is decided for
    /// the whole batch at once.
    /// - Parameters:
    ///   - recipes: the number of recipes.
    ///   - entries: some items after an id, and the id of the last one, as ``Journal/entries(after:limit:)`` gives them.
    /// - Throws: ``BatchError`` when the plan was made for other recipes; `CancelledError`.
    package func fill(
        recipes: Int,
        flag: CancellationFlag,
        entries: (_ last: Int64) async throws -> (entries: [JournalEntry], last: Int64)
    ) async throws {
        try begin()
        var last: Int64 = 0
        while true {
            let portion = try await entries(last)
            guard portion.last != last else { break }
            last = portion.last
            try add(
                try portion.entries.map { entry in
                    try flag.check()
                    return try Self.item(entry, recipes: recipes)
                }
            )
        }
        try merge(objectionCode: .notSelected) { $0[0] }
    }

    private static func item(_ entry: JournalEntry, recipes: Int) throws(BatchError) -> DiscoveredItem {
        var item = entry.item
        guard (0..<recipes).contains(item.recipe) else {
            throw BatchError(
                .notAShard,
                path: "",
                detail:
                    "the plan of \(entry.name) cannot be read: it is damaged, or another version made it; divide the "
                    + "batch again with `nocturne plan --shards` and another --output"
            )
        }
        if let changed = item.inputs.first(where: { !$0.holds }) {
            let what = InputStamp(changed.path).size == nil ? "is gone" : "has changed"
            let name = IdentifierPolicy.mark((changed.path as NSString).lastPathComponent)
            item.problem = .refused(
                .discovered(.changedSincePlan, "\(file: name) \(own: what) since the plan was made")
            )
        }
        return item
    }
}
