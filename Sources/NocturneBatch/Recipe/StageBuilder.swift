import NocturneConcurrency
public import NocturneJournal

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
            assembly.stages.append(Loader(link, load))
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
            // As many as the writer takes at a time, so that small items are committed together.
            let input = assemble(&assembly, 16)
            let committer = assembly.committer
            let link = StageLink<Payload, ItemProduct>(
                stage: .write,
                input: input,
                environment: assembly.environment,
                send: { await committer.commit($0) },
                finish: {}
            )
            assembly.stages.append(Writer(link, facts: assembly.facts, write))
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

/// All stages of a recipe.
public struct RecipeStages<Source: Codable & Sendable>: Sendable {
    let assemble: @Sendable (inout PipelineAssembly<Source>) -> Void
}
