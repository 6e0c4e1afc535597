import NocturneBatch
import NocturneInference
import NocturneOutput
import NocturneSystem

extension BatchOptions {
    /// A batch with two threads.
    /// - Parameters:
    ///   - options: those of the recipe, as the batch records them.
    ///   - models: folders of packages.
    init(
        _ options: [String: String],
        models: [String] = [],
        inputs: [String],
        output: OutputFolder,
        threads: Int = 2,
        memoryBytes: Int? = 1 << 30
    ) throws {
        let packages = try models.map { try ModelPackage.load(folder: $0) }
        self.init(
            output: output,
            description: BatchDescription(
                version: "0.0.0",
                models: packages.map { .init(id: $0.id, name: $0.name, version: $0.version, digest: $0.digest.hex) },
                options: options,
                inputs: inputs,
                modelPaths: models
            ),
            resources: ResourceLimits(threads: threads, memoryBytes: memoryBytes, processBytes: Self.processBytes)
        )
    }

    /// What this process is said to take besides the batch: the other tests' memory is not this batch's.
    static let processBytes = 64 << 20

    /// Runs the batch in this process. `observe` sees every event.
    @discardableResult
    func run(
        _ recipes: [any Recipe],
        control: RunControl = RunControl(),
        observe: @escaping @Sendable (BatchEvent, RunControl) -> Void = { _, _ in }
    ) async throws -> BatchOutcome {
        try output.create()
        let progress = ProgressReporter(path: output.events, view: Observer(control: control, observe: observe))
        return try await BatchEngine(recipes: recipes, options: self, control: control, progress: progress).run()
    }
}

extension Recipe {
    /// The plan for a source as the journal has it.
    func plan(source: String, threads: Int, lean: Bool) throws -> ItemPlan {
        try plan(Self.source(from: source), threads: threads, lean: lean)
    }
}

private struct Observer: ProgressView {
    let control: RunControl
    let observe: @Sendable (BatchEvent, RunControl) -> Void
    func show(_ event: BatchEvent, _ status: ProgressStatus) { observe(event, control) }
}

extension OutputFolder {
    /// Every file that has to be the same in two runs, with its digest.
    func tree() throws -> [String: String] {
        var result: [String: String] = [:]
        for file in FileSystem.files(below: path)
        where !file.hasPrefix(".nocturne/") && !file.hasSuffix("run.json") && file != "events.jsonl" {
            result[file] = try FileSystem.digest(path + "/" + file).digest.hex
        }
        return result
    }
}
