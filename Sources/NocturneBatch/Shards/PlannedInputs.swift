import Foundation
package import NocturneJournal
package import NocturneSystem

/// What the journal of a shard keeps of an item's discovery besides its source: which recipe found it, and its files as they
/// were.
struct PlannedInputs: Codable {
    let recipe: Int
    /// As ``PackedStamps/recorded``.
    private let stamps: String

    init(recipe: Int, _ inputs: PackedStamps) {
        self.recipe = recipe
        stamps = inputs.recorded
    }

    /// Nil where the journal is damaged.
    var inputs: [InputStamp]? { PackedStamps(recorded: stamps)?.stamps }
}

extension PlannedEntry {
    /// - Throws: `EncodingError`.
    package init(_ decision: WorkPlanner.Decision) throws {
        let inputs = PlannedInputs(recipe: decision.item.recipe, decision.item.packedInputs)
        self.init(decision.entry, inputs: String(decoding: try StableJSON.encodeLine(inputs), as: UTF8.self))
    }
}

extension Discovery {
    /// The items of a shard, as the plan has them. The inputs are not searched.
    ///
    /// A file that has changed since then makes its item fail: which items there are, and what they are called, is decided for
    /// the whole batch at once.
    /// - Parameter recipes: the number of recipes.
    /// - Throws: ``BatchError`` when the plan was made for other recipes; `CancelledError`.
    package init(planned entries: some Sequence<PlannedEntry>, recipes: Int, flag: CancellationFlag) throws {
        self.init()
        for planned in entries {
            try flag.check()
            let entry = planned.entry
            guard let known = try? JSONDecoder().decode(PlannedInputs.self, from: Data(planned.inputs.utf8)),
                (0..<recipes).contains(known.recipe), let fingerprint = ContentDigest(hex: entry.fingerprint),
                let inputs = known.inputs
            else {
                throw BatchError(
                    .notAShard,
                    path: "",
                    detail:
                        "the plan of \(entry.name) cannot be read: it is damaged, or another version made it; divide the "
                        + "batch anew with `nocturne plan --shards` and another --output"
                )
            }
            var item = DiscoveredItem(
                key: entry.key,
                name: entry.name,
                model: entry.model,
                source: entry.source,
                path: entry.path,
                fingerprint: fingerprint,
                inputs: inputs
            )
            item.recipe = known.recipe
            item.words = entry.words
            if let changed = inputs.first(where: { !$0.holds }) {
                let what = InputStamp(changed.path).size == nil ? "is gone" : "has changed"
                item.problem = .refused(
                    .discovered(
                        .changedSincePlan,
                        "\(IdentifierPolicy.mark((changed.path as NSString).lastPathComponent)) \(what) since the plan was made"
                    )
                )
            }
            items.append(item)
        }
    }
}
