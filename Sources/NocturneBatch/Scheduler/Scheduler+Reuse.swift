import NocturneConcurrency
import NocturneJournal
import NocturneOutput

/// Results of other batches.
extension Scheduler {
    /// The plan of an item whose result another batch has; nil without one.
    func reusing(_ id: Int64, _ source: DiscoveredSource?) async -> PlannedItem? {
        guard let item = items[id], let source, !notReusable.contains(id),
            let result = await context.reusable?.result(item.name, of: source)
        else { return nil }
        let recipe = context.recipes[item.recipe]
        let request = Reuser.Request(result: result) {
            try recipe.recognize(folder: $0, fingerprint: source.fingerprint)
        }
        return reuser?.plan(source, request)
    }

    /// The items with the folders of their earlier results, or those of other batches.
    func withEarlierResults(_ items: [PendingItem]) async -> [PendingItem] {
        var others: [Int64: ReusableResult] = [:]
        if let reusable = context.reusable {
            for item in items { others[item.id] = await reusable.result(item.name, of: nil) }
        }
        return await context.blocking.run { [output = context.output, others] in
            items.map { item in
                var item = item
                if output.holdsResult(item.name) {
                    item.earlierResult = output.item(item.name)
                } else if let other = others[item.id], other.hasRecordedDigests {
                    item.earlierResult = other.folder
                }
                return item
            }
        }
    }
}
