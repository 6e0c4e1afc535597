import NocturneConcurrency
import NocturneSystem

/// A pipeline, whatever its recipe's payloads are.
protocol RunnablePipeline: Sendable {
    /// Where the scheduler puts admitted items.
    var requests: BoundedChannel<StageMessage<Void>> { get }
    /// Runs all stages until the requests end and everything in flight has ended.
    func run() async
}

/// The stages of one recipe, with a bounded channel between any two.
struct Pipeline<R: Recipe>: RunnablePipeline {
    let requests: BoundedChannel<StageMessage<Void>>
    private let loader: Loader<R>
    private let preprocessor: Preprocessor<R>
    private let inference: TiledInference<R>
    private let postprocessor: Postprocessor<R>
    private let mesher: Mesher<R>
    private let writer: Writer<R>

    /// - Parameter bytes: how much may wait between two stages.
    init(
        recipe: R,
        bytes: Int,
        surroundings: StageEnvironment,
        committer: Committer,
        facts: RunFacts
    ) {
        // Two items between any two stages: enough that neither waits for the other, little enough to stay bounded.
        let requests = BoundedChannel<StageMessage<Void>>(items: 2)
        let loaded = BoundedChannel<StageMessage<R.Loaded>>(items: 2, bytes: bytes)
        let prepared = BoundedChannel<StageMessage<R.Prepared>>(items: 2, bytes: bytes)
        let inferred = BoundedChannel<StageMessage<R.Inference.Inferred>>(items: 2, bytes: bytes)
        let finished = BoundedChannel<StageMessage<R.Finished>>(items: 2, bytes: bytes)
        let meshed = BoundedChannel<StageMessage<R.Meshed>>(items: 16, bytes: bytes)
        self.requests = requests
        loader = Loader(
            recipe: recipe,
            line: StageLine(stage: .load, input: requests, output: loaded, surroundings: surroundings)
        )
        preprocessor = Preprocessor(
            recipe: recipe,
            line: StageLine(stage: .prepare, input: loaded, output: prepared, surroundings: surroundings)
        )
        inference = TiledInference(
            recipe: recipe,
            line: StageLine(stage: .infer, input: prepared, output: inferred, surroundings: surroundings)
        )
        postprocessor = Postprocessor(
            recipe: recipe,
            line: StageLine(stage: .finish, input: inferred, output: finished, surroundings: surroundings)
        )
        mesher = Mesher(
            recipe: recipe,
            line: StageLine(stage: .mesh, input: finished, output: meshed, surroundings: surroundings)
        )
        writer = Writer(
            recipe: recipe,
            input: meshed,
            surroundings: surroundings,
            committer: committer,
            facts: facts
        )
    }

    func run() async {
        await withTaskGroup(of: Void.self) { stages in
            stages.addTask { await loader.run() }
            stages.addTask { await preprocessor.run() }
            stages.addTask { await inference.run() }
            stages.addTask { await postprocessor.run() }
            stages.addTask { await mesher.run() }
            stages.addTask { await writer.run() }
        }
    }
}
