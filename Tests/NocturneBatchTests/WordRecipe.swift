import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneSystem
import NocturneTestSupport
import Synchronization

/// The smallest recipe there is: every text file below the inputs becomes a result that holds its words in capitals.
///
/// What happens at a stage can be changed from outside, so that the engine is met with faults.
struct WordRecipe: Recipe {
    /// Called at the begin of a stage with its name and the item's; what it throws is the stage's error.
    var disturbance: @Sendable (Stage, String) throws -> Void = { _, _ in }
    /// Called with what was found by each look at the inputs.
    var found: @Sendable (inout Discovery) throws -> Void = { _ in }

    init(_ disturbance: @escaping @Sendable (Stage, String) throws -> Void = { _, _ in }) {
        self.disturbance = disturbance
    }

    /// The same with another look at the inputs.
    func finding(_ found: @escaping @Sendable (inout Discovery) throws -> Void) -> WordRecipe {
        var recipe = self
        recipe.found = found
        return recipe
    }

    final class Run: InferenceRun, @unchecked Sendable {
        // Unchecked: used by one stage at a time.
        let words: String
        var stepsDone = 0
        let stepCount = 1
        init(_ words: String) { self.words = words }
        func step(_ context: StageContext) throws { stepsDone = 1 }
        func checkpoint(force: Bool, _ context: StageContext) throws {}
        func finish(_ context: StageContext) throws -> String { words.uppercased() }
    }

    func discover(_ request: DiscoveryRequest, scope: ComputeScope) throws -> Discovery {
        var discovery = Discovery()
        for input in request.inputs {
            for file in FileSystem.files(below: input) {
                let path = input + "/" + file
                let stamp = InputStamp(path)
                discovery.items.append(
                    DiscoveredItem(
                        key: path,
                        name: (file as NSString).deletingPathExtension,
                        model: "words",
                        source: path,
                        path: path,
                        fingerprint: ContentDigest.of(path + stamp.words),
                        inputs: [stamp]
                    )
                )
            }
        }
        try found(&discovery)
        return discovery
    }

    func sharedBytes(threads: Int) throws -> Int { 0 }
    func plan(source: String, threads: Int, lean: Bool) throws -> ItemPlan {
        ItemPlan(buffers: [PlannedBuffer("words", bytes: 1000, from: .load, through: .write)], steps: 1)
    }
    func secondsPerStep(scope: ComputeScope) throws -> Double { 0 }

    func load(_ item: RecipeItem, _ context: StageContext) throws -> String {
        let words = String(decoding: try FileSystem.read(item.source), as: UTF8.self)
        try disturbance(.load, item.name)
        return words
    }
    func prepare(_ loaded: consuming String, _ item: RecipeItem, _ context: StageContext) throws -> String {
        try disturbance(.prepare, item.name)
        return loaded
    }
    func startInference(_ prepared: consuming String, _ item: RecipeItem, _ context: StageContext) throws -> Run {
        try disturbance(.infer, item.name)
        return Run(prepared)
    }
    func finish(_ inferred: consuming String, _ item: RecipeItem, _ context: StageContext) throws -> String { inferred }
    func mesh(_ finished: consuming String, _ item: RecipeItem, _ context: StageContext) throws -> String {
        try disturbance(.mesh, item.name)
        return finished
    }

    func write(_ meshed: consuming String, into folder: String, _ item: RecipeItem, _ context: StageContext) throws
        -> ItemProduct
    {
        try disturbance(.write, item.name)
        let text = "{\"fingerprint\":\"\(item.fingerprint)\",\"words\":\"\(meshed)\"}"
        try FileSystem.write(folder + "/result.json", Array(text.utf8))
        return ItemProduct(files: [], statistics: [], notes: [])
    }

    func adopt(folder: String, fingerprint: String) throws -> ItemProduct? {
        String(decoding: try FileSystem.read(folder + "/result.json"), as: UTF8.self).contains(fingerprint)
            ? ItemProduct(files: [], statistics: [], notes: []) : nil
    }
}

/// A folder of words and a batch over it.
struct WordBench {
    let folder: TemporaryFolder
    private let control = RunControl()

    init(_ words: [String: String]) throws {
        folder = try TemporaryFolder("words")
        try FileManager.default.createDirectory(at: folder("in"), withIntermediateDirectories: true)
        for (name, text) in words { try write(name, text) }
    }

    private init(_ folder: TemporaryFolder) { self.folder = folder }

    /// The same batch in a run of its own.
    func again() -> WordBench { WordBench(folder) }

    var output: OutputFolder { OutputFolder(folder("out").path) }

    func write(_ name: String, _ text: String) throws {
        try text.write(to: folder("in").appendingPathComponent(name + ".txt"), atomically: true, encoding: .utf8)
    }

    func run(
        _ recipe: WordRecipe,
        onFull: FullDiskPolicy = .pause,
        watch: FolderWatcher? = nil,
        stall: StallPolicy? = nil,
        memoryBytes: Int? = 1 << 30,
        supervisor: String? = nil,
        previousDeath: String? = nil
    ) async throws -> BatchOutcome {
        try output.create()
        let description = BatchDescription(
            version: "test",
            models: [],
            options: [:],
            inputs: [folder("in").path],
            include: [],
            exclude: [],
            modelPaths: []
        )
        return try await BatchEngine(
            recipes: [recipe],
            options: BatchOptions(
                output: output,
                description: description,
                threads: 2,
                memoryBytes: memoryBytes,
                onFull: onFull,
                watch: watch,
                stall: stall,
                previousDeath: previousDeath,
                supervisor: supervisor,
                processBytes: 0
            ),
            control: control,
            progress: ProgressReporter(path: output.events, view: SilentView())
        ).run()
    }

    /// What a result says, and what the events said.
    func words(_ name: String) throws -> String {
        let text = String(decoding: try FileSystem.read(output.item(name) + "/result.json"), as: UTF8.self)
        return text.components(separatedBy: "\"words\":\"").last?.components(separatedBy: "\"").first ?? ""
    }
    func events(_ kind: String) throws -> [String] {
        String(decoding: try FileSystem.read(output.events), as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { $0.contains("\"event\":\"\(kind)\"") }
    }
}
