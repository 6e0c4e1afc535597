import NocturneConcurrency
import NocturneJournal

/// A pipeline, whatever its recipe's payloads are.
protocol RunnablePipeline: Sendable {
    /// What an item will need, and how to start it. Its source is decoded here, once.
    /// - Parameters:
    ///   - bytes: the memory it may have: the ordinary plan if it fits, else the lean one, which may not fit either.
    ///   - filesInMemory: whether files in staging are memory.
    func plan(_ item: DiscoveredSource, threads: Int, within bytes: Int, filesInMemory: Bool) throws -> PlannedItem
    /// No further item will be started.
    func finishRequests()
    /// Frees the sessions that are kept from item to item; those of the item in inference go with it.
    func freeSessions() async
    /// Runs all stages until the requests end and every active item has ended.
    func run() async
}

/// An item that can be started.
struct PlannedItem: Sendable {
    let source: DiscoveredSource
    let plan: ItemPlan
    /// Sends it into the pipeline. Waits while the first stage has enough to do.
    let start: @Sendable (ActiveItem) async throws -> Void
}

/// The stages of one recipe, with a bounded channel between any two.
struct Pipeline<R: Recipe>: RunnablePipeline {
    private let recipe: R
    private let requests: BoundedChannel<StageMessage<R.Source>>
    private let stages: [any StageActor]

    init(recipe: R, environment: StageEnvironment, committer: Committer, facts: RunFacts) {
        self.recipe = recipe
        var assembly = PipelineAssembly<R.Source>(environment: environment, committer: committer, facts: facts)
        recipe.stages(StageBuilder()).assemble(&assembly)
        requests = assembly.requests
        stages = assembly.stages
    }

    func plan(
        _ item: DiscoveredSource,
        threads: Int,
        within bytes: Int,
        filesInMemory: Bool
    ) throws -> PlannedItem {
        let source = try R.source(from: item.source)
        let plan = try recipe.plan(source, threads: threads, within: bytes, filesInMemory: filesInMemory)
        return PlannedItem(source: item, plan: plan) { [requests] active in
            try await requests.send(StageMessage(item: active, payload: source))
        }
    }

    func finishRequests() { requests.finish() }

    func freeSessions() async {
        for case let owner as any SessionOwner in stages { await owner.freeSessions() }
    }

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for stage in stages { group.addTask { await stage.run() } }
        }
    }
}

/// A pipeline while it is put together: the stages so far, and what all of them use.
struct PipelineAssembly<Source: Sendable> {
    /// Two items between any two stages: enough that neither waits for the other, little enough to stay bounded. Their
    /// bytes are bounded by their leases.
    static var itemsBetweenStages: Int { 2 }

    let environment: StageEnvironment
    let committer: Committer
    let facts: RunFacts
    let requests = BoundedChannel<StageMessage<Source>>(items: itemsBetweenStages)
    var stages: [any StageActor] = []
}
