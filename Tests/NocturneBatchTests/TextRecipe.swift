import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneSystem
import NocturneTestSupport
import Synchronization

/// The smallest recipe there is: every text file below the inputs becomes a result that holds its text in capitals.
///
/// What happens at a stage can be changed from outside, to show how the engine handles errors.
struct TextRecipe: Recipe {
    /// Called at the start of a stage with its name and the item's; what it throws is the stage's error.
    var disturbance: @Sendable (Stage, String) throws -> Void = { _, _ in }
    /// Called with what each search of the inputs has found.
    var found: @Sendable (inout Discovery) throws -> Void = { _ in }

    /// Peak bytes of an item, by its name.
    var memoryBytes: @Sendable (String) -> Int = { _ in 1000 }

    init(_ disturbance: @escaping @Sendable (Stage, String) throws -> Void = { _, _ in }) {
        self.disturbance = disturbance
    }

    /// The same with another search of the inputs.
    func finding(_ found: @escaping @Sendable (inout Discovery) throws -> Void) -> TextRecipe {
        var recipe = self
        recipe.found = found
        return recipe
    }

    final class Run: InferenceRun, @unchecked Sendable {
        // Unchecked: used by one stage at a time.
        let text: String
        var stepsDone = 0
        let stepCount = 1
        init(_ text: String) { self.text = text }
        func step(_ context: StageContext) throws { stepsDone = 1 }
        func checkpoint(force: Bool, _ context: StageContext) throws {}
        func finish(_ context: StageContext) throws -> String { text.uppercased() }
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
                        model: "text",
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
        let name = (source as NSString).lastPathComponent
        let buffer = PlannedBuffer("text", bytes: memoryBytes(name), from: .load, through: .write)
        return ItemPlan(buffers: [buffer], steps: 1)
    }
    func secondsPerStep(scope: ComputeScope) throws -> Double { 0 }

    func load(_ item: RecipeItem, _ context: StageContext) throws -> String {
        let text = String(decoding: try FileSystem.read(item.source), as: UTF8.self)
        try disturbance(.load, item.name)
        return text
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
        let text = "{\"fingerprint\":\"\(item.fingerprint)\",\"text\":\"\(meshed)\"}"
        try FileSystem.write(folder + "/result.json", Array(text.utf8))
        return ItemProduct(files: [], statistics: [], notes: [])
    }

    func adopt(folder: String, fingerprint: String) throws -> ItemProduct? {
        String(decoding: try FileSystem.read(folder + "/result.json"), as: UTF8.self).contains(fingerprint)
            ? ItemProduct(files: [], statistics: [], notes: []) : nil
    }
}
