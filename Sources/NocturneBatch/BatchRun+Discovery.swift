import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneSystem

/// The search of the inputs.
extension BatchRun {
    func discover() async throws -> Discovery {
        let options = context.options
        let items = try await context.journal.items()
        let isNew = items.isEmpty
        unresponsive.beginAnew()
        let request = DiscoveryRequest(
            inputs: options.description.inputs,
            include: options.description.include,
            exclude: options.description.exclude,
            pruned: [options.output.path],
            toleratesMissing: !isNew || !isFirstRound,
            silent: unresponsive,
            trace: trace,
            identifiers: options.description.identifiers
        )
        let settled = Set(items.filter { $0.state == .failed }.map(\.path))
            .intersection(recovery.discoveryLimits.unresponsiveFiles)
        let found = try await search(request, leavingOut: settled)
        if options.rules.watch != nil { return found }
        guard !found.items.isEmpty || !isNew else {
            throw BatchError(
                .nothingMatched,
                path: options.description.inputs.joined(separator: " "),
                detail: "no input was found"
                    + (found.notes.isEmpty ? "" : " (" + found.notes.joined(separator: "; ") + ")")
            )
        }
        return found
    }

    /// - Parameter settled: the paths of items that have failed already, for a better reason.
    private func search(_ request: DiscoveryRequest, leavingOut settled: Set<String>) async throws -> Discovery {
        let scope = ComputeScope(pool: readsOneByOne ? nil : context.pool, flag: context.control.flag)
        let (routes, watch) = (context.options.description.routes, context.options.rules.watch)
        return try await context.blocking.run { [recipes = context.recipes, unresponsive, time = context.time] in
            var found = Discovery.merged(try recipes.map { try $0.discover(request, scope: scope) }, routes: routes)
            found.addFailures(of: unresponsive)
            found.items.removeAll { settled.contains($0.path) }
            return watch?.settled(found, at: time.wallClock) ?? found
        }
    }
}
