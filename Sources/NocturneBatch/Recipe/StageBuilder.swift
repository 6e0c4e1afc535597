import NocturneConcurrency
public import NocturneJournal
import NocturneSystem

/// Where a recipe's list of stages begins: `start.load(load).prepare(prepare).….write(write)`.
public struct StageBuilder<Source: Codable & Sendable>: Sendable {
    init() {}

    /// Reads and decodes an item, on a thread that may wait for the disk.
    public func load<Loaded: Sendable>(_ load: @escaping StageFunction<Source, Loaded>)
        -> StageSequence<Source, Loaded>
    {
        StageSequence(last: .load) { assembly, items in
            let output = BoundedChannel<StageMessage<Loaded>>(items: items)
            let link = StageLink(.load, from: assembly.requests, to: output, assembly.environment)
            // Two at once: while one waits for the disk the other decodes.
            let stage = BlockingStage(link, workers: 2) { message, _ in
                let item = message.item
                let loaded = try load(message.payload, item.item, item.context)
                // What was read while it was being replaced is not what the fingerprint was made of.
                try item.checkInputs()
                return loaded
            }
            assembly.stages.append(stage)
            return output
        }
    }
}

/// A recipe's stages so far. What comes out of the last one goes into the next; a stage that is not named is absent.
///
/// The order is that of ``Stage``; another one is a mistake of the recipe and stops the process.
public struct StageSequence<Source: Codable & Sendable, Payload: Sendable>: Sendable {
    let last: Stage
    /// Makes the stages, and gives the channel that the last one fills. The number is how many items it may hold.
    let assemble: @Sendable (inout PipelineAssembly<Source>, Int) -> BoundedChannel<StageMessage<Payload>>

    /// Brings an item into the form that the network, or the next stage, takes.
    public func prepare<Prepared: Sendable>(_ prepare: @escaping StageFunction<Payload, Prepared>)
        -> StageSequence<Source, Prepared>
    {
        followed(by: .prepare) { ComputeStage($0, prepare) }
    }

    /// Runs networks, a step at a time.
    /// - Parameters:
    ///   - sessions: makes what is kept from item to item. The stage owns it, nobody else uses it.
    ///   - start: begins with one item.
    public func infer<Sessions, Run: InferenceRun>(
        _ sessions: @escaping @Sendable () -> Sessions,
        _ start: @escaping @Sendable (Sessions, consuming Payload, RecipeItem, StageContext) throws -> Run
    ) -> StageSequence<Source, Run.Inferred> {
        followed(by: .infer) { TiledInference($0, sessions: sessions, start: start) }
    }

    /// Cleans and measures.
    public func finish<Finished: Sendable>(_ finish: @escaping StageFunction<Payload, Finished>)
        -> StageSequence<Source, Finished>
    {
        followed(by: .finish) { ComputeStage($0, finish) }
    }

    /// Makes surfaces and pictures.
    public func render<Rendered: Sendable>(_ render: @escaping StageFunction<Payload, Rendered>)
        -> StageSequence<Source, Rendered>
    {
        followed(by: .render) { ComputeStage($0, render) }
    }

    /// Writes everything but `run.json` into the folder, which exists and is empty. The committer flushes the files.
    public func write(
        _ write: @escaping @Sendable (consuming Payload, String, RecipeItem, StageContext) throws -> ItemProduct
    ) -> RecipeStages<Source> {
        RecipeStages { [assemble] assembly in
            // Many at once, so that the commits of small items meet and share one flush.
            let workers = 16
            let input = assemble(&assembly, workers)
            let (environment, committer, facts) = (assembly.environment, assembly.committer, assembly.facts)
            let link = StageLink<Payload, ItemProduct>(from: input, to: committer, environment)
            let stage = BlockingStage(link, workers: workers) { message, begun in
                let item = message.item
                // A source that changed while it was processed has no valid result.
                try item.checkInputs()
                let folder = try item.makeStagedResult()
                let product = try write(message.payload, folder, item.item, item.context)
                var seconds = message.seconds
                // Without the time of pauses, as all other stages measure.
                seconds[.write] = (environment.gate.workTime - begun).inSeconds
                let report = try facts.report(
                    seconds: seconds,
                    itemPeakBytes: item.plan.peak(),
                    finishedAt: environment.time.wallClock.timestamp
                )
                try FileSystem.write(folder + "/run.json", report)
                return product
            }
            assembly.stages.append(stage)
        }
    }

    private func followed<Next: Sendable>(
        by stage: Stage,
        _ make: @escaping @Sendable (StageLink<Payload, Next>) -> any StageActor
    ) -> StageSequence<Source, Next> {
        precondition(stage > last, "the stage \(stage) cannot come after \(last)")
        return StageSequence<Source, Next>(last: stage) { [assemble] assembly, items in
            let input = assemble(&assembly, PipelineAssembly<Source>.itemsBetweenStages)
            let output = BoundedChannel<StageMessage<Next>>(items: items)
            assembly.stages.append(make(StageLink(stage, from: input, to: output, assembly.environment)))
            return output
        }
    }
}

extension StageLink where Output == ItemProduct {
    /// From a channel to the committer.
    init(from input: BoundedChannel<StageMessage<Input>>, to committer: Committer, _ environment: StageEnvironment) {
        self.init(
            stage: .write,
            input: input,
            environment: environment,
            send: { await committer.commit($0) },
            finish: {}
        )
    }
}

/// All stages of a recipe.
public struct RecipeStages<Source: Codable & Sendable>: Sendable {
    let assemble: @Sendable (inout PipelineAssembly<Source>) -> Void
}
