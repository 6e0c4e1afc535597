package import NocturneBatch
package import NocturneConcurrency
import NocturneJournal
import NocturneRecipeSupport
package import NocturneSystem

/// What a run would do: the report of `nocturne plan`.
package struct PlanReport: Encodable, Sendable {
    package struct Item: Encodable, Sendable {
        package let item: String
        package let source: String
        @Nullable package var peakBytes: Int?
        @Nullable package var tiles: Int?
        @Nullable package var seconds: Double?
        package let fits: Bool
        /// Whether it fits only if large buffers are kept in files.
        package let lean: Bool
        @Nullable package var problem: String?
    }

    package let budgetBytes: Int
    package let engineBytes: Int
    package let seconds: Double
    package let items: [Item]
    package let notes: [String]
    /// What becomes of each item, in the order of ``items``. Not part of the JSON.
    package let decisions: [WorkPlanner.Decision]

    private enum CodingKeys: String, CodingKey {
        case budgetBytes, engineBytes, seconds, items, notes
    }

    /// Finds the items of a plan.
    package typealias Search = @Sendable (_ recipes: [any Recipe], _ scope: ComputeScope) throws -> Discovery

    /// Whether no item can be processed.
    package var isEmpty: Bool { items.allSatisfy { $0.problem != nil } }

    /// Loads the models, discovers the inputs and plans each item. Runs only one inference step, to time it.
    /// - Parameters:
    ///   - memoryBytes: the budget; nil for the default share of the available memory.
    ///   - taken: names that no item may have.
    ///   - search: finds the items; nil to search the inputs.
    package init(
        _ description: BatchDescription,
        threads: Int,
        memoryBytes: Int?,
        taken: Set<String> = [],
        search: Search? = nil
    ) async throws {
        let (recipes, loadedBytes) = try LoadedModels.measuredRecipes(description)
        let pool = try ComputePool(width: threads)
        defer { pool.shutdown() }
        let reading = MemoryReading.take()
        let budget = memoryBytes ?? MemoryBudget.defaultTotal(reading)
        let resources = ResourceLimits(threads: threads, memoryBytes: memoryBytes, loadedBytes: loadedBytes)
        let shared = try recipes.reduce(resources.processBytes(by: reading)) {
            $0 + (try $1.sharedBytes(threads: threads))
        }
        let search = search ?? Self.searchingInputs(of: description)
        let (discovery, perStep) = try await pool.run {
            let scope = ComputeScope(pool: pool, flag: CancellationFlag())
            return (
                try search(recipes, scope),
                try recipes.map { try $0.secondsPerStep(scope: scope) }
            )
        }
        let planner = WorkPlanner(retries: .none, identifiers: description.identifiers)
        let decisions = planner.decide(discovery.items, known: [:], foreign: taken) { _ in false }
        self.decisions = decisions
        budgetBytes = budget
        engineBytes = shared
        items = decisions.map { decision in
            let (entry, recipe) = (decision, decision.item.recipe)
            return Item(entry.item, name: entry.entry.name, available: budget - shared, secondsPerStep: perStep[recipe])
            {
                try recipes[recipe].plan(source: entry.item.source, threads: threads, within: budget - shared)
            }
        }
        seconds = items.reduce(0) { $0 + ($1.seconds ?? 0) }
        notes = discovery.notes + decisions.compactMap(\.note)
    }

    private static func searchingInputs(of description: BatchDescription) -> Search {
        let request = DiscoveryRequest(
            inputs: description.inputs,
            include: description.include,
            exclude: description.exclude,
            identifiers: description.identifiers
        )
        return { recipes, scope in
            Discovery.merged(try recipes.map { try $0.discover(request, scope: scope) }, routes: description.routes)
        }
    }
}

extension PlanReport.Item {
    /// - Parameters:
    ///   - available: bytes left for items by the engine.
    ///   - plan: predicts the resources of the item.
    init(
        _ item: DiscoveredItem,
        name: String,
        available: Int,
        secondsPerStep: Double,
        plan: () throws -> ItemPlan
    ) {
        let problem = item.problem.map { problem in
            switch problem {
            case .refused(let reason): "refused: \(reason.text)"
            case .setAside(let reason), .unknown(let reason): "set aside: \(reason.text)"
            }
        }
        let plan = problem == nil ? try? plan() : nil
        self.init(
            item: name,
            source: item.path,
            peakBytes: plan?.peak(),
            tiles: plan?.steps,
            seconds: plan.map { Double($0.steps) * secondsPerStep },
            fits: plan.map { $0.peak() <= available } ?? false,
            lean: plan?.isLean ?? false,
            problem: problem
        )
    }
}
