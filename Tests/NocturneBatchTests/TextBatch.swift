import Foundation
import NocturneBatch
import NocturneOutput
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import Synchronization

/// Shows nothing.
struct SilentView: ProgressView {
    func show(_ event: BatchEvent, _ status: ProgressStatus) {}
}

/// A folder of texts and a batch over it.
struct TextBatch {
    let folder: TemporaryFolder
    let control = RunControl()
    private let outputName: String

    init(_ texts: [String: String]) throws {
        folder = try TemporaryFolder("texts")
        outputName = "out"
        try FileManager.default.createDirectory(at: folder("in"), withIntermediateDirectories: true)
        for (name, text) in texts { try write(name, text) }
    }

    private init(_ folder: TemporaryFolder, _ outputName: String) {
        (self.folder, self.outputName) = (folder, outputName)
    }

    /// The same batch in a run of its own, or one over the same texts with another output folder.
    func again(_ outputName: String? = nil) -> TextBatch { TextBatch(folder, outputName ?? self.outputName) }

    var output: OutputFolder { OutputFolder(folder.path + "/" + outputName) }

    func write(_ name: String, _ text: String) throws {
        try folder.write(text, to: "in/\(name).txt")
    }

    /// How a run differs from an ordinary one.
    struct Setup {
        var resources = ResourceLimits(threads: 2, memoryBytes: 1 << 30, processBytes: 0)
        var rules = RunRules()
        var supervision = SupervisionState()
        /// By default waiting takes no time. Starts with the real date, which is compared with that of files.
        var time: any TimeSource = ManualTime(advancesItself: true, wallClock: SystemTime().wallClock)
        var view: any ProgressView = SilentView()
        /// Whether the output folder is made before the run.
        var createsOutput = true
        /// Output folders of other batches.
        var reuse: [String] = []
    }

    func run(_ recipe: TextRecipe, _ change: (inout Setup) -> Void = { _ in }) async throws -> BatchOutcome {
        var setup = Setup()
        change(&setup)
        if setup.createsOutput { try output.create() }
        let description = BatchDescription(
            version: "test",
            models: [],
            options: [:],
            inputs: [folder.path + "/in"],
            modelPaths: []
        )
        var options = BatchOptions(
            output: output,
            description: description,
            resources: setup.resources,
            rules: setup.rules,
            supervision: setup.supervision
        )
        options.reuse = setup.reuse
        return try await BatchEngine(
            recipes: [recipe],
            options: options,
            control: control,
            progress: ProgressReporter(path: output.events, view: setup.view, time: setup.time),
            time: setup.time
        ).run()
    }

    /// The text of a result.
    func text(_ name: String) throws -> String {
        let text = String(decoding: try FileSystem.read(output.item(name) + "/result.json"), as: UTF8.self)
        return text.components(separatedBy: "\"text\":\"").last?.components(separatedBy: "\"").first ?? ""
    }

    /// The lines of `events.jsonl` of one kind.
    func events(_ kind: String) throws -> [String] {
        String(decoding: try FileSystem.read(output.events), as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { $0.contains("\"event\":\"\(kind)\"") }
    }
}

/// Where no page is to be written.
struct NoPage: BatchPage {
    private struct Parts: BatchPageParts {
        func add(_ items: [ReportedItem]) {}
        func finish() {}
    }

    func begin(_ batch: ReportedBatch, flag: CancellationFlag) -> any BatchPageParts { Parts() }
}
