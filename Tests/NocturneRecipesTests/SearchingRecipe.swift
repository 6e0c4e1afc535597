import NocturneBatch
import NocturneConcurrency
import NocturneJournal

extension Recipe {
    /// What a search of the inputs by this recipe alone finds, in the order of discovery.
    func search(_ request: DiscoveryRequest) throws -> (items: [DiscoveredItem], notes: [String]) {
        try NocturneRecipesTests.search([self], request)
    }
}

/// What several recipes find, as one list in the order of discovery.
func search(_ recipes: [any Recipe], _ request: DiscoveryRequest) throws -> (items: [DiscoveredItem], notes: [String]) {
    let table = try FoundTable()
    let found = try InputSearch(recipes).run(request, scope: .serial(), into: table)
    return (try table.items(), found.notes)
}
