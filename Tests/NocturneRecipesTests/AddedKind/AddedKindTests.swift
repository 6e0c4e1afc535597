import ArgumentParser
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A kind of recipe that is added with one folder and one line")
struct AddedKindTests {
    /// The line.
    private static let registry = RecipeRegistry(RecipeRegistry.all.kinds + [WordCount.self])

    private let folder: TemporaryFolder
    private var output: OutputFolder { OutputFolder(folder("out").path) }
    private var model: String { folder("model").path }
    private var input: String { folder("in").path }

    init() throws {
        folder = try TemporaryFolder("nocturne-kind")
        try folder.write("to be or not to be", to: "in/hamlet.txt")
        try writePackage()
    }

    private func writePackage(task: String = WordCount.task, shortest: Int = 1) throws {
        let words = "a list of words"
        try folder.write(words, to: "model/words.txt")
        try folder.write(
            """
            {"schemaVersion": 2, "id": "counter", "name": "Counter", "version": "1", "licence": "none",
             "task": "\(task)", "wordCount": {"shortest": \(shortest)},
             "files": [{"path": "words.txt", "sha256": "\(ContentDigest.of(words).hex)", "bytes": \(words.utf8.count)}]}
            """,
            to: "model/model.json"
        )
    }

    private func description(_ more: String...) throws -> BatchDescription {
        try BatchArguments.parse([input, "--model", model] + more).description(version: "0.0.1")
    }

    /// Parses the command line, keeps the description as the journal does, and runs what it describes.
    private func run(_ more: String...) async throws -> BatchOutcome {
        try await RecipeRegistry.$current.withValue(Self.registry) {
            let written = try StableJSON.encodeLine(
                try BatchArguments.parse([input, "--model", model] + more)
                    .description(version: "0.0.1")
            )
            let description = try JSONDecoder().decode(BatchDescription.self, from: Data(written))
            let batch = BatchOptions(
                output: output,
                description: description,
                resources: ResourceLimits(threads: 1, memoryBytes: 1 << 30, processBytes: 0)
            )
            return try await batch.run(try LoadedModels.recipes(description))
        }
    }

    private func faults() async throws -> [String] {
        try await BatchVerification(output, inspection: RecipeResults(Self.registry)).run().faults.map(\.detail)
    }

    @Test("It runs a batch, its options reach the result and the report, and the batch is verified by its own rules")
    func batch() async throws {
        #expect(try await run("--distinct-words").counts.completed == 1)
        let result = try JSONValue(parsing: FileSystem.read(output.item("hamlet.txt") + "/result.json"))
        #expect(result["words"] == .number(4) && result["options"]?["distinct-words"]?.text == "yes")
        let report = try JSONValue(parsing: FileSystem.read(output.report))
        #expect(report["options"]?["distinct-words"]?.text == "yes" && report["options"]?["engine"]?.text == "auto")
        #expect(try await faults() == [])
        // The registry without it does not know the results.
        let others = try await BatchVerification(output, inspection: RecipeResults(.all)).run().faults
        #expect(others.contains { $0.detail.contains("unknown task word-count") })
        try FileSystem.write(output.item("hamlet.txt") + "/words.txt", Array("be\n".utf8))
        #expect(try await faults().contains { $0.contains("was recorded") || $0.contains("were recorded") })
    }

    @Test("Its options are in the help of the command line, under its heading")
    func help() throws {
        // Lines are wrapped at the width of the terminal.
        let help = RecipeRegistry.$current.withValue(Self.registry) { BatchArguments.helpMessage() }
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(help.contains("--distinct-words") && help.contains("Count every word once."))
        #expect(help.uppercased().contains("COUNTING OF WORDS:"), "\(help)")
        #expect(help.contains("values: " + MeshSelection.allCases.map(\.rawValue).joined(separator: ", ")))
        #expect(help.contains("values: " + InferenceEngines.all.names.joined(separator: ", ")))
        #expect(!BatchArguments.helpMessage().contains("--distinct-words"))
    }

    @Test("Its option is refused without a model of its task, and so are those of other kinds with it")
    func refused() throws {
        try RecipeRegistry.$current.withValue(Self.registry) {
            #expect { try description("--fix-tilt") } throws: {
                "\($0)".contains("--fix-tilt") && "\($0)".contains("segment volumes")
            }
            #expect {
                try BatchArguments.parse([input, "--existing-labels", "--distinct-words"]).description(version: "1")
            } throws: { "\($0)".contains("--distinct-words") && "\($0)".contains("count words") }
            #expect(throws: (any Error).self) { try BatchArguments.parse([input, "--engine", "magic"]) }
            _ = try description("--distinct-words")
        }
    }

    @Test("Its section of the package is checked; a task that no kind has is an error that names it and the others")
    func packages() throws {
        try RecipeRegistry.$current.withValue(Self.registry) {
            try writePackage(shortest: 0)
            #expect { try LoadedModels.package(model) } throws: { "\($0)".contains("wordCount.shortest") }
            try writePackage(task: "magic")
            #expect { try LoadedModels.package(model) } throws: {
                "\($0)".contains("magic") && "\($0)".contains("volume-segmentation")
                    && "\($0)".contains("word-count")
            }
            try writePackage()
            var description = try description()
            description.recipes.append("magic")
            #expect { try LoadedModels.recipes(description) } throws: {
                "\($0)".contains("unknown task magic") && "\($0)".contains("word-count")
            }
        }
    }
}
