import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import Synchronization

/// The smallest recipe there is: every text file below the inputs becomes a result that holds its text in capitals.
///
/// What happens at a stage can be changed from outside, to show how the engine handles errors.
struct TextRecipe: Recipe {
    /// Called at the start of a stage with its name and the item's; what it throws is the stage's error.
    var disturbance: @Sendable (Stage, String) throws -> Void = { _, _ in }
    /// What each search of the inputs finds.
    struct Found {
        var items: [DiscoveredItem] = []
        var notes: [String] = []
    }
    /// Called with what each search of the inputs has found.
    var change: @Sendable (inout Found) throws -> Void = { _ in }

    /// Called when the report is written.
    var summary: @Sendable () throws -> Void = {}

    /// Peak bytes of an item, by its name.
    var memoryBytes: @Sendable (String) -> Int = { _ in 1000 }

    /// What its models take.
    var shared = SharedMemory()
    /// Called when sessions are made, and with a model that is released.
    var sessionsMade: @Sendable () -> Void = {}
    var released: @Sendable (_ model: String) -> Void = { _ in }

    /// Paths of files of a result besides `result.json`, with one byte each.
    var otherFiles: [String] = []

    init(_ disturbance: @escaping @Sendable (Stage, String) throws -> Void = { _, _ in }) {
        self.disturbance = disturbance
    }

    /// The same with another search of the inputs.
    func finding(_ change: @escaping @Sendable (inout Found) throws -> Void) -> TextRecipe {
        var recipe = self
        recipe.change = change
        return recipe
    }

    /// Where the text is.
    struct Source: Codable, Sendable {
        let path: String

        /// As the journal has it.
        static func encoded(_ path: String) -> String {
            String(decoding: (try? StableJSON.encodeLine(Source(path: path))) ?? [], as: UTF8.self)
        }
    }

    final class Run: InferenceRun {
        let text: String
        var stepsDone = 0
        let stepCount = 1
        init(_ text: String) { self.text = text }
        func step(_ context: StageContext) throws { stepsDone = 1 }
        func checkpoint(force: Bool, _ context: StageContext) throws {}
        func finish(_ context: StageContext) throws -> String { text.uppercased() }
    }

    func claims(
        _ request: DiscoveryRequest,
        _ files: InputFiles,
        scope: ComputeScope
    ) throws -> any InputClaims { Claims(change: change) }

    /// Claims every file.
    private final class Claims: InputClaims {
        private let change: @Sendable (inout Found) throws -> Void
        private let files = Mutex<[FoundFile]>([])

        init(change: @escaping @Sendable (inout Found) throws -> Void) { self.change = change }

        func claim(_ file: FoundFile) -> FileClaim {
            files.withLock { $0.append(file) }
            return .companion
        }

        func addItems(of families: [[FoundFile]], _ patients: PatientFolders, to items: FoundItems) throws {}

        func finish(_ items: FoundItems) throws -> [String] {
            var found = Found()
            found.items = files.withLock { $0 }.sorted().map { file in
                let stamp = InputStamp(file.path)
                var item = DiscoveredItem(
                    key: file.path,
                    name: (file.name as NSString).deletingPathExtension,
                    model: "text",
                    path: file.path,
                    fingerprint: ContentDigest.of(file.path + stamp.text),
                    inputs: [stamp]
                )
                item.source = Source.encoded(file.path)
                return item
            }
            try change(&found)
            try items.add(contentsOf: found.items)
            return found.notes
        }
    }

    func sharedMemory(threads: Int) throws -> SharedMemory { shared }
    func release(model: String) { released(model) }
    func plan(_ source: Source, threads: Int, lean: Bool) throws -> ItemPlan {
        let name = (source.path as NSString).lastPathComponent
        let buffer = PlannedBuffer("text", bytes: memoryBytes(name), from: .load, through: .write)
        return ItemPlan(buffers: [buffer], steps: 1)
    }
    func secondsPerStep(scope: ComputeScope) throws -> Double { 0 }

    func stages(_ start: StageBuilder<Source>) -> RecipeStages<Source> {
        start.load(load).prepare(prepare).infer(sessionsMade, startInference).finish(finish).render(render).write(write)
    }

    func load(_ source: Source, _ item: RecipeItem, _ context: StageContext) throws -> String {
        let text = String(decoding: try FileSystem.read(source.path), as: UTF8.self)
        try disturbance(.load, item.name)
        return text
    }
    func prepare(_ loaded: consuming String, _ item: RecipeItem, _ context: StageContext) throws -> String {
        try disturbance(.prepare, item.name)
        return loaded
    }
    func startInference(_ none: (), _ prepared: consuming String, _ item: RecipeItem, _ context: StageContext) throws
        -> Run
    {
        try disturbance(.infer, item.name)
        return Run(prepared)
    }
    func finish(_ inferred: consuming String, _ item: RecipeItem, _ context: StageContext) throws -> String { inferred }
    func render(_ finished: consuming String, _ item: RecipeItem, _ context: StageContext) throws -> String {
        try disturbance(.render, item.name)
        return finished
    }

    func write(_ rendered: consuming String, into folder: String, _ item: RecipeItem, _ context: StageContext) throws
        -> ItemProduct
    {
        try disturbance(.write, item.name)
        let others = otherFiles.map { ItemFile(path: $0, bytes: 1, sha256: ContentDigest.of("A").hex) }
        for file in others {
            try FileSystem.makeFolders(ResultFolder.parents(of: file.path).first ?? "", in: folder)
            try FileSystem.write(folder + "/" + file.path, [65])
        }
        let files = String(decoding: try StableJSON.encodeLine(others), as: UTF8.self)
        let text = "{\"files\":\(files),\"fingerprint\":\"\(item.fingerprint)\",\"text\":\"\(rendered)\"}"
        try FileSystem.write(folder + "/result.json", Array(text.utf8))
        var product = try TextRecipe.product(of: folder)
        product.files += others
        return product
    }

    private static func product(of folder: String) throws -> ItemProduct {
        let (bytes, digest) = try FileSystem.digest(folder + "/result.json")
        let file = ItemFile(path: "result.json", bytes: bytes, sha256: digest.hex)
        return ItemProduct(files: [file], statistics: [], notes: [])
    }

    func summarize(folders: CompletedFolders, into output: String, flag: CancellationFlag) throws { try summary() }

    func recognize(folder: String, fingerprint: String) throws -> ItemProduct? {
        String(decoding: try FileSystem.read(folder + "/result.json"), as: UTF8.self).contains(fingerprint)
            ? try TextRecipe.product(of: folder) : nil
    }
}
