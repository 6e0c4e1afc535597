import NocturneBatch
import NocturneConcurrency
import NocturneJournal
import NocturneOutput

/// What recipes have found, as lists.
struct FoundList {
    var items: [DiscoveredItem] = []
    var notes: [String] = []

    /// As ``InputSearch`` puts together what several recipes have found.
    /// - Returns: the table, and the list in the order of discovery.
    static func merged(
        _ each: [FoundList],
        routes: InputRoutes = InputRoutes()
    ) throws -> (table: FoundTable, list: FoundList) {
        let table = try FoundTable()
        let search = InputSearch(each.map { _ in TextRecipe() }, routes)
        var all = Discovery()
        for (recipe, found) in each.enumerated() {
            try search.add(found.items, of: recipe, to: table)
            all.notes += found.notes
        }
        try search.merge(&all, in: table)
        return (table, FoundList(items: try table.items(), notes: all.notes))
    }
}
