import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneSystem

/// The search of the inputs.
extension BatchRun {
    func discover() async throws -> Discovery {
        if context.output.shard != nil { return try await planned() }
        let options = context.options
        let isNew = try await context.journal.isEmpty()
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
        var settled = Set(recovery.discoveryLimits.unresponsiveFiles)
        if !settled.isEmpty { settled.formIntersection(try await context.journal.paths(in: .failed)) }
        var found = try await search(request, leavingOut: settled)
        found.leaveOut(removed: try await context.journal.value(of: .removedItems) ?? [])
        if options.rules.watch != nil {
            return settling.settled(found, at: context.time.monotonic, context.time.wallClock)
        }
        guard !found.items.isEmpty || !isNew else {
            throw BatchError(
                .nothingMatched,
                path: options.description.inputs.joined(separator: " "),
                detail: "no input was found"
                    + (options.description.include.isEmpty
                        ? "" : " that fits --include " + options.description.include.joined(separator: " "))
                    + (found.notes.isEmpty ? "" : " (" + found.notes.joined(separator: "; ") + ")")
            )
        }
        return found
    }

    /// The items of a shard, which were found when the batch was divided.
    private func planned() async throws -> Discovery {
        let entries = try await context.journal.planned(Set(ItemState.allCases))
        return try await context.blocking.run { [recipes = context.recipes.count, flag = context.control.flag] in
            try Discovery(planned: entries, recipes: recipes, flag: flag)
        }
    }

    /// - Parameter settled: the paths of items that have failed already, for a better reason.
    private func search(_ request: DiscoveryRequest, leavingOut settled: Set<String>) async throws -> Discovery {
        let scope = ComputeScope(
            pool: readsOneByOne ? nil : context.pool,
            flag: context.control.flag,
            time: context.time
        )
        let stalls = stallDetector()
        defer {
            trace.observe(nil)
            stalls?.stop()
        }
        let routes = context.options.description.routes
        return try await context.blocking.run { [recipes = context.recipes, unresponsive] in
            var found = Discovery.merged(try recipes.map { try $0.discover(request, scope: scope) }, routes: routes)
            found.addFailures(of: unresponsive, request.identifiers)
            found.items.removeAll { settled.contains($0.path) }
            return found
        }
    }

    /// Ends the process when the search makes no progress: a listing of a share that is gone cannot be interrupted. The
    /// next engine tries every file before it is read.
    private func stallDetector() -> StallDetector? {
        guard let policy = context.options.rules.stall, let limit = policy.seconds else { return nil }
        // A search of many folders may pause for longer than an item.
        let stalls = StallDetector(limit: max(limit, 60), isPaused: { false }) { policy.act(on: $0) }
        let id: Int64 = 0
        stalls.enter(id, named: "the search of the inputs", .load)
        trace.observe { stalls.moved(id) }
        stalls.start()
        return stalls
    }
}
