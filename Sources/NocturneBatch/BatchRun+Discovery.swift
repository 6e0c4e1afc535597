import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem

/// The search of the inputs.
extension BatchRun {
    func discover() async throws -> Discovery {
        if context.output.shard != nil { return try await planned() }
        let options = context.options
        let isNew = try await context.journal.isEmpty()
        unresponsive.beginAnew()
        var request = DiscoveryRequest(options.description)
        request.pruned = [options.output.path]
        if !isNew || !isFirstRound {
            let isFirst = options.rules.watch == nil && isFirstRound
            request.missingInputs = isFirst ? .failed : .noted(besides: missingAtFirst)
        }
        (request.silent, request.trace) = (unresponsive, trace)
        var settled = Set(recovery.discoveryLimits.unresponsiveFiles)
        if !settled.isEmpty { settled.formIntersection(try await context.journal.paths(in: .failed)) }
        let removed = try await context.journal.value(of: .removedItems) ?? []
        var found = try await search(request, leavingOut: settled, removed: removed)
        if isFirstRound, options.rules.watch == nil {
            // The search has shown that they respond.
            missingAtFirst = Set(options.description.inputs.filter { !FileSystem.exists($0) })
        }
        let table = context.journal.found
        if options.rules.watch != nil {
            let (now, wallClock) = (context.time.monotonic, context.time.wallClock)
            let (settling, notes) = try await context.blocking.run { [settling] in
                var settling = settling
                // Not within the tuple: its first element would be the value of before.
                let notes = try settling.settle(table, at: now, wallClock)
                return (settling, notes)
            }
            self.settling = settling
            found.notes += notes
            return found
        }
        let isEmpty = try await context.blocking.run { try table.isEmpty() }
        guard !isEmpty || !isNew else {
            // An input that was removed whole is no longer one.
            if found.leftOut > 0 || options.description.inputs.isEmpty {
                throw BatchError(
                    .nothingMatched,
                    path: "",
                    detail: "no input is left: later runs leave out what `nocturne forget` removed from this batch. "
                        + "Name other inputs, or another --output to process the same ones again"
                )
            }
            throw BatchError(
                .nothingMatched,
                path: "",
                detail: "no input was found in " + options.description.inputs.joined(separator: ", ")
                    + (options.description.include.isEmpty
                        ? "" : " that matches --include " + options.description.include.joined(separator: " "))
                    + (found.notes.isEmpty ? "" : " (" + found.notes.joined(separator: "; ") + ")")
                    + (options.description.include.isEmpty && options.description.exclude.isEmpty
                        ? ". Check the path; `nocturne inspect FOLDER` lists what a folder contains"
                        : ". Compare the patterns of --include and --exclude with the names of the files")
            )
        }
        return found
    }

    /// The items of a shard, which were found when the batch was divided.
    private func planned() async throws -> Discovery {
        let (journal, recipes, flag) = (context.journal, context.recipes.count, context.control.flag)
        try await withTaskExecutorPreference(context.blocking) {
            try await journal.found.fill(recipes: recipes, flag: flag) { last in
                try await journal.entries(after: last, limit: FoundTable.itemsAtOnce)
            }
        }
        return Discovery()
    }

    /// - Parameter settled: the paths of items that have failed already, for a better reason.
    private func search(
        _ request: DiscoveryRequest,
        leavingOut settled: Set<String>,
        removed: [String]
    ) async throws -> Discovery {
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
        let description = context.options.description
        let search = InputSearch(context.recipes, description.routes, models: description.models.map(\.id))
        let (table, last) = (context.journal.found, context.recipes.count - 1)
        return try await context.blocking.run { [unresponsive] in
            var found = try search.run(request, scope: scope, into: table)
            try table.addFailures(of: unresponsive, request.identifiers, found.patients, recipe: last)
            try table.remove(paths: settled)
            try found.leaveOut(removed: removed, from: table)
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
