package import NocturneBatch
package import NocturneConcurrency
import NocturneJournal
import NocturneRecipeSupport
package import NocturneSystem

/// What a run would do: the report of `nocturne plan`, and of `--dry-run` for a batch that exists.
package struct PlanReport: Encodable, Sendable {
    package struct Item: Encodable, Sendable {
        package let item: String
        package let source: String
        package let state: RemainingWork
        @Nullable package var peakBytes: Int?
        @Nullable package var tiles: Int?
        /// Of inference. In a batch that exists, with the other stages as they took in it before.
        @Nullable package var seconds: Double?
        package let fits: Bool
        /// Whether it fits only if large buffers are kept in files.
        package let lean: Bool
        @Nullable package var problem: String?
    }

    /// The batch that the output folder holds.
    package struct Batch: Codable, Sendable {
        package let output: String
        /// How it differs from the plan; empty if it does not.
        package let changes: [String]
        /// How many items are in each state.
        package let counts: [String: Int]
        /// Items without a result that are no longer among the inputs.
        package let vanished: Int

        package func count(_ state: RemainingWork) -> Int { counts[state.rawValue] ?? 0 }
    }

    /// Nil without a batch in the output folder.
    @Nullable package var batch: Batch?
    package let budgetBytes: Int
    package let engineBytes: Int
    package let seconds: Double
    package let items: FileBackedList<Item>
    package let notes: [String]
    /// The threads that the seconds are for. Not part of the JSON.
    package let threads: Int
    /// What becomes of each item, in the order of ``items``. Not part of the JSON.
    package let decisions: FileBackedList<WorkPlanner.Decision>

    private enum CodingKeys: String, CodingKey {
        case batch, budgetBytes, engineBytes, seconds, items, notes
    }

    /// Finds the items of a plan.
    package typealias Search = @Sendable (_ recipes: [any Recipe], _ scope: ComputeScope) throws -> Discovery

    /// The output folder with what it holds already.
    package struct Existing: Sendable {
        package let recorded: RecordedItems
        package let retries: RetrySelection

        package init(_ recorded: RecordedItems, retries: RetrySelection = .none) {
            self.recorded = recorded
            self.retries = retries
        }
    }

    /// Whether there is nothing that can be processed, nor was.
    package var isEmpty: Bool { batch == nil && items.allSatisfy { $0.problem != nil } }

    /// Loads the models, discovers the inputs and plans each item that is to be processed. Runs at most one inference step of
    /// each recipe, to time it. Writes nothing.
    /// - Parameters:
    ///   - existing: the output folder; nil for a plan without one.
    ///   - dividesCores: whether several processes may share the cores, `resources.threads`: then the plan is for the threads
    ///     of one that the networks of the models use well.
    ///   - search: finds the items; nil to search the inputs.
    package init(
        _ description: BatchDescription,
        _ resources: ResourceLimits,
        existing: Existing? = nil,
        dividesCores: Bool = false,
        search: Search? = nil
    ) async throws {
        let (recipes, loadedBytes) = try LoadedModels.measuredRecipes(description, memoryBytes: resources.memoryBytes)
        let cores = resources.threads
        let threads =
            dividesCores ? try recipes.map { try $0.threadsOfProcess(cores: cores) }.min() ?? cores : cores
        self.threads = threads
        let reading = MemoryReading.take()
        let budget = resources.memoryBytes ?? MemoryBudget.defaultTotal(reading)
        var resources = resources
        resources.loadedBytes = loadedBytes
        let shared = try recipes.reduce(resources.processBytes(by: reading)) {
            $0 + (try $1.sharedBytes(threads: threads))
        }
        let search = search ?? Self.searchingInputs(of: description, existing?.recorded)
        // The search uses all cores, also where a network does not.
        let found = try await Self.withPool(of: cores) { scope in
            try PlannedItems(try search(recipes, scope), existing, recipes, description.identifiers)
        }
        let perStep = try await Self.withPool(of: threads) { scope in
            try recipes.enumerated().map {
                try found.recipesWithInference.contains($0) ? $1.secondsPerStep(scope: scope) : 0
            }
        }
        let mean = existing?.recorded.meanSecondsWithoutInference()
        var items = FileBackedList<Item>()
        for (decision, state) in zip(found.decisions, found.states) {
            let recipe = decision.item.recipe
            var item = Item(decision, state, available: budget - shared, secondsPerStep: perStep[recipe]) {
                try recipes[recipe].plan(source: decision.item.source, threads: threads, within: budget - shared)
            }
            if state.isWork, let others = existing?.recorded.secondsWithoutInference(of: item.item) ?? mean {
                item.seconds = (state == .remake ? 0 : item.seconds ?? 0) + others
            }
            items.append(item)
        }
        self.items = items
        (decisions, budgetBytes, engineBytes) = (found.decisions, budget, shared)
        seconds = items.reduce(0) { $0 + ($1.seconds ?? 0) }
        batch = existing.flatMap { Batch($0.recorded, description, found) }
        notes = found.notes
    }

    private static func withPool<Result: Sendable>(
        of threads: Int,
        _ body: @escaping @Sendable (ComputeScope) throws -> Result
    ) async throws -> Result {
        let pool = try ComputePool(width: threads)
        defer { pool.shutdown() }
        return try await pool.run { try body(ComputeScope(pool: pool, flag: CancellationFlag())) }
    }

    private static func searchingInputs(of description: BatchDescription, _ recorded: RecordedItems?) -> Search {
        let request = DiscoveryRequest(
            inputs: description.inputs,
            include: description.include,
            exclude: description.exclude,
            pruned: recorded.map { [$0.output.path] } ?? [],
            toleratesMissing: !(recorded?.items.isEmpty ?? true),
            identifiers: description.identifiers
        )
        return { recipes, scope in
            Discovery.merged(try recipes.map { try $0.discover(request, scope: scope) }, routes: description.routes)
        }
    }
}

/// What was found, and what becomes of it.
private struct PlannedItems: Sendable {
    let decisions: FileBackedList<WorkPlanner.Decision>
    /// One for each decision.
    let states: [RemainingWork]
    let notes: [String]

    init(
        _ discovery: Discovery,
        _ existing: PlanReport.Existing?,
        _ recipes: [any Recipe],
        _ identifiers: IdentifierPolicy
    ) throws {
        let planner = WorkPlanner(retries: existing?.retries ?? .none, identifiers: identifiers)
        var discovery = discovery
        if let recorded = existing?.recorded {
            recorded.leaveOutRemoved(from: &discovery)
            decisions = try recorded.decide(discovery.items, recipes, planner)
            states = decisions.map { recorded.remainingWork($0, recipes[$0.item.recipe]) }
            // That an item is processed again is its state.
            notes =
                discovery.notes
                + zip(decisions, states).lazy.compactMap { decision, state in
                    let isState = [.repeat, .remake].contains(state) && !recorded.hasEdit(decision.name)
                    return isState ? nil : decision.note
                }
        } else {
            decisions = planner.decide(discovery.items, known: KnownItems(), foreign: []) { _ in false }
            states = decisions.map { RemainingWork(new: $0) }
            notes = discovery.notes + decisions.lazy.compactMap(\.note)
        }
    }

    /// The indices of the recipes that have items with inference left.
    var recipesWithInference: Set<Int> {
        Set(zip(decisions, states).lazy.filter { $0.1.needsInference }.map(\.0.item.recipe))
    }
}

extension PlanReport.Batch {
    /// Nil where the folder holds no batch.
    fileprivate init?(_ recorded: RecordedItems, _ description: BatchDescription, _ found: PlannedItems) {
        guard let earlier = recorded.description else { return nil }
        let none = Dictionary(uniqueKeysWithValues: RemainingWork.allCases.map { ($0.rawValue, 0) })
        self.init(
            output: recorded.output.path,
            changes: description.differences(from: earlier),
            counts: found.states.reduce(into: none) { $0[$1.rawValue, default: 0] += 1 },
            vanished: recorded.vanished(found.decisions)
        )
    }
}

extension PlanReport.Item {
    /// - Parameters:
    ///   - available: bytes left for items by the engine.
    ///   - plan: predicts the resources of the item.
    fileprivate init(
        _ decision: WorkPlanner.Decision,
        _ state: RemainingWork,
        available: Int,
        secondsPerStep: Double,
        plan: () throws -> ItemPlan
    ) {
        let plan = state.isWork ? try? plan() : nil
        self.init(
            item: decision.name,
            source: decision.item.path,
            state: state,
            peakBytes: plan?.peak(),
            tiles: state == .remake ? 0 : plan?.steps,
            seconds: plan.map { Double($0.steps) * secondsPerStep },
            fits: plan.map { $0.peak() <= available } ?? (state == .completed),
            lean: plan?.isLean ?? false,
            problem: Self.problem(decision, state)
        )
    }

    private static func problem(_ decision: WorkPlanner.Decision, _ state: RemainingWork) -> String? {
        switch decision.item.problem {
        case .refused(let reason): return "refused: \(reason.text)"
        case .setAside(let reason), .unknown(let reason): return "set aside: \(reason.text)"
        case nil: break
        }
        guard !state.isWork, state != .completed else { return nil }
        return "\(state.rawValue) before" + (decision.reason.map { ": \($0.text)" } ?? "")
    }
}
