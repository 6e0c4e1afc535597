package import NocturneBatch
import NocturneConcurrency
import NocturneJournal
package import NocturneOutput
package import NocturneSystem

/// What a run would do: the report of `nocturne plan`, and of `--dry-run` for a batch that exists.
package struct PlanReport: Encodable, Sendable {
    /// What a run would do about one item.
    package struct Item: Encodable, Sendable {
        /// The name of its folder.
        package let item: String
        /// The path of its first file.
        package let source: String
        /// What a run would do.
        package let state: RemainingWork
        /// The predicted peak without what all items share; null where nothing is processed.
        @Nullable package var peakBytes: Int?
        /// Steps of inference; null where nothing is processed.
        @Nullable package var tiles: Int?
        /// Of inference. In a batch that exists, with the other stages as they took in it before.
        @Nullable package var seconds: Double?
        package let fits: Bool
        /// Whether it fits only if large buffers are kept in files.
        package let lean: Bool
        /// Why it is not processed; null where it is.
        @Nullable package var problem: String?
        /// Its place in the order of discovery, and what the journal knows it by. Not part of the JSON.
        package let place: Int64
        /// Its key in the journal.
        package let key: String

        private enum CodingKeys: String, CodingKey {
            case item, source, state, peakBytes, tiles, seconds, fits, lean, problem
        }
    }

    /// The batch that the output folder holds.
    package struct Batch: Codable, Sendable {
        /// The output folder.
        package let output: String
        /// How it differs from the plan; empty if it does not.
        package let changes: BatchDescription.Changes
        /// How many items are in each state.
        package let counts: [String: Int]
        /// Items without a result that are no longer among the inputs.
        package let vanished: Int
        /// Results whose input or model is no longer given, or whose files now make other items: they leave the tables.
        package let withdrawn: Int
        /// The names of items whose labels people have edited, and which get the model's labels again.
        package let lostEdits: [String]
        /// The names of items whose objects lose the titles and other texts that were imported for them.
        package let lostTexts: [String]

        /// Whether it has no item and finds none: all were removed.
        var isEmpty: Bool { vanished + withdrawn == 0 && counts.values.allSatisfy { $0 == 0 } }

        /// How many items are in a state.
        package func count(_ state: RemainingWork) -> Int { counts[state.rawValue] ?? 0 }
    }

    /// Nil without a batch in the output folder.
    @Nullable package var batch: Batch?
    package let budgetBytes: Int
    /// Weights and workspaces, which all items share.
    package let engineBytes: Int
    /// Of all items together, one after the other.
    package let seconds: Double
    /// In the order of discovery.
    package let items: Items
    /// Remarks of the search.
    package let notes: [String]
    /// The threads that the seconds are for. Not part of the JSON.
    package let threads: Int
    /// The inputs of the plan. Not part of the JSON.
    package let inputs: [String]

    private enum CodingKeys: String, CodingKey {
        case batch, budgetBytes, engineBytes, seconds, items, notes
    }

    /// The output folder with what it holds already.
    package struct Existing: Sendable {
        /// What the folder holds.
        package let batch: PlannedBatch
        /// Which failed items are tried again.
        package let retries: RetrySelection

        /// - Parameter retries: none by default: items that failed stay as they are.
        package init(_ batch: PlannedBatch, retries: RetrySelection = .none) {
            self.batch = batch
            self.retries = retries
        }
    }

    /// Whether there is nothing that can be processed, nor was.
    package var isEmpty: Bool { items.goodCount == 0 && batch?.isEmpty ?? true }

    /// Loads the models, discovers the inputs and plans each item that is to be processed. Runs at most one inference step of
    /// each recipe, to time it. Writes nothing.
    /// - Parameters:
    ///   - existing: the output folder; nil for a plan without one.
    ///   - dividesCores: whether several processes may share the cores, `resources.threads`: then the plan is for the threads
    ///     of one that the networks of the models use well.
    ///   - reuse: output folders of other batches whose results are taken; with none, those of the last run of the batch that named any.
    package init(
        _ description: BatchDescription,
        _ resources: ResourceLimits,
        existing: Existing? = nil,
        dividesCores: Bool = false,
        reuse: [String] = []
    ) async throws {
        // The models are loaded, since the memory they take is measured, not estimated.
        let (recipes, loadedBytes) = try LoadedModels.measuredRecipes(description, memoryBytes: resources.memoryBytes)
        let cores = resources.threads
        let threads =
            dividesCores ? try recipes.map { try $0.threadsOfProcess(cores: cores) }.min() ?? cores : cores
        (self.threads, inputs) = (threads, description.inputs)
        let reading = MemoryReading.take()
        let budget = resources.memoryBytes ?? MemoryBudget.defaultTotal(reading)
        var resources = resources
        resources.loadedBytes = loadedBytes
        // What is left of the budget after this is for items.
        let shared = try recipes.reduce(resources.processBytes(by: reading)) {
            $0 + (try $1.sharedBytes(threads: threads))
        }
        let journal: Journal
        // A plan without an output folder has a journal in a temporary file.
        if let existing { journal = existing.batch.journal } else { journal = try await .temporary() }
        // The search uses all cores, also where a network does not.
        var found = try await Self.search(description, existing?.batch, recipes, into: journal.found, cores: cores)
        try found.leaveOut(removed: existing?.batch.removed ?? [], from: journal.found)
        let reusable = try await ReusableResults(reuse, journal) { found.notes.append($0) }
        let planning = Planning(
            recipes: recipes,
            journal: journal,
            existing: existing,
            reusable: reusable,
            threads: threads,
            available: budget - shared,
            filesInMemory: existing.map { FileSystem.isInMemory($0.batch.output.staging) } ?? false
        )
        let planned = try await planning.run(description)
        await reusable?.close()
        found.notes += planned.notes
        // Only recipes with inference left are timed: a step of each.
        let perStep = try await ComputeScope.withPool(of: threads) { scope in
            try recipes.enumerated().map {
                planned.needsInference.contains($0) ? try $1.secondsPerStep(scope: scope) : 0
            }
        }
        items = try Items(journal, secondsPerStep: perStep, available: budget - shared)
        (budgetBytes, engineBytes, seconds) = (budget, shared, items.seconds)
        batch = try await existing?.batch.compared(with: description, planned)
        self.notes = found.notes
    }

    private static func search(
        _ description: BatchDescription,
        _ existing: PlannedBatch?,
        _ recipes: [any Recipe],
        into table: FoundTable,
        cores: Int
    ) async throws -> Discovery {
        let isNew = try await existing?.journal.isEmpty() ?? true
        var request = DiscoveryRequest(description)
        request.pruned = existing.map { [$0.output.path] } ?? []
        if !isNew { request.missingInputs = .failed }
        return try await ComputeScope.withPool(of: cores) { [request] scope in
            try InputSearch(recipes, description.routes, models: description.models.map(\.id))
                .run(request, scope: scope, into: table)
        }
    }
}

extension PlannedBatch {
    /// What differs from a plan whose items the journal has; nil for a folder without a batch.
    fileprivate func compared(
        with description: BatchDescription,
        _ planned: PlanReport.Planned
    ) async throws -> PlanReport.Batch? {
        guard let earlier = self.description else { return nil }
        let changes = description.changes(from: earlier)
        let absent = try await WithdrawnResults(description, withUnselected: !changes.isEmpty).counts(in: journal)
        var counts = planned.states
        // Results whose sources no longer exist stay.
        counts[RemainingWork.completed.rawValue, default: 0] += absent.kept
        return PlanReport.Batch(
            output: output.path,
            changes: changes,
            counts: counts,
            vanished: try await journal.absentItems().count,
            withdrawn: absent.withdrawn,
            lostEdits: planned.lostEdits,
            lostTexts: planned.lostTexts
        )
    }
}
