import Foundation
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A dry run on an existing batch")
struct DryRunTests {
    private struct Plan: Decodable {
        struct Batch: Decodable {
            struct Changes: Decodable {
                let additions: [String]
                let differences: [String]
            }
            let changes: Changes
            let counts: [String: Int]
        }
        struct Item: Decodable {
            let item: String
            let state: String
            let tiles: Int?
            let seconds: Double?
            let problem: String?
        }
        let batch: Batch?
        let seconds: Double
        let items: [Item]

        var states: [String: String] { Dictionary(uniqueKeysWithValues: items.map { ($0.item, $0.state) }) }

        init(_ tool: Tool) throws {
            self = try JSONDecoder().decode(Plan.self, from: Data(tool.output.utf8))
        }
    }

    /// Every file of the output folder, the journal and hidden files too, with its digest.
    private func tree(_ folder: String) throws -> [String: String] {
        var result: [String: String] = [:]
        for path in FileSystem.files(below: folder) {
            result[path] = try FileSystem.digest(folder + "/" + path).digest.hex
        }
        return result
    }

    /// A volume that completes, one that cannot be read, and a file that is set aside.
    private func bench() throws -> ToolBench {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        try bench.folder.write("damaged", to: "in/b.nii")
        try bench.folder.write("no image", to: "in/notes.txt")
        #expect(try bench.run("--quiet").status == 3)
        return bench
    }

    @Test("tells what is left, of run and of resume, and writes nothing")
    func states() throws {
        let bench = try bench()
        try bench.addVolume("c.nii", 8, 8, 8)
        let before = try tree(bench.output)
        let run = try bench.run("--dry-run", "--json")
        #expect(run.status == 0, "\(run.errors)")
        let plan = try Plan(run)
        #expect(plan.states == ["a": "completed", "b": "failed", "c": "pending", "notes.txt": "skipped"])
        #expect(
            plan.batch?.changes.differences == [] && plan.batch?.counts["completed"] == 1
                && plan.batch?.counts["repeat"] == 0
        )
        let left = try #require(plan.items.first { $0.item == "c" })
        #expect(left.seconds == plan.seconds && plan.seconds > 0)
        #expect(plan.items.first { $0.item == "a" }?.seconds == nil)
        let resume = try Tool(["resume", bench.output, "--dry-run", "--json"])
        #expect(try Plan(resume).states == plan.states)
        let text = try Tool(["resume", bench.output, "--dry-run"])
        #expect(text.output.contains("Of 4 items: 1 completed, 1 to be processed, 1 failed"), "\(text.output)")
        #expect(try tree(bench.output) == before)
    }

    @Test("A number of items in 8 hours is left out where inference is not what takes the time")
    func rate() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        let plan = try Tool(["plan", bench.input, "--model", bench.model()])
        #expect(plan.output.contains("inference about") && !plan.output.contains("such items"), "\(plan.output)")
    }

    @Test("tells that nothing is left of a batch that is finished")
    func finished() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        #expect(try bench.run("--quiet").status == 0)
        let text = try Tool(["resume", bench.output, "--dry-run"])
        #expect(text.status == 0 && text.output.contains("Nothing is left to be done."), "\(text.output)")
    }

    @Test("counts results whose source was deleted")
    func deletedSource() throws {
        let bench = try ToolBench()
        for name in ["a.nii", "b.nii"] { try bench.addVolume(name, 8, 8, 8) }
        #expect(try bench.run("--quiet").status == 0)
        FileSystem.remove(bench.input + "/a.nii")
        let text = try Tool(["resume", bench.output, "--dry-run"])
        #expect(text.output.contains("Of 2 items: 2 completed."), "\(text.output)")
    }

    @Test("tells failed items that are tried again from those that are not")
    func retried() async throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        #expect(try bench.run("--quiet").status == 0)
        // As after an error that may not happen again.
        let output = OutputFolder(bench.output)
        try await Journal.with(path: output.journal) { journal in
            let item = try #require(try await journal.items().first)
            var failed = try #require(try await journal.entries(after: 0, limit: 1).entries.first)
            #expect(failed.item.key == item.key)
            (failed.state, failed.reason) = (.failed, ItemReason(FaultCode("test", "reason"), "the disk failed"))
            try await journal.record([failed])
        }
        try FileManager.default.removeItem(atPath: output.item("a"))
        let kept = try Plan(Tool(["resume", bench.output, "--dry-run", "--json"]))
        #expect(kept.states == ["a": "failed"] && kept.items.first?.problem == "failed before: the disk failed")
        let again = try Plan(Tool(["resume", bench.output, "--dry-run", "--json", "--failed"]))
        #expect(again.states == ["a": "retry"])
        let coded = try Plan(Tool(["resume", bench.output, "--dry-run", "--json", "--code", "test"]))
        #expect(coded.states == again.states)
    }

    @Test("tells what changed options affect, and what of it needs inference")
    func changed() throws {
        let bench = try bench()
        let before = try tree(bench.output)
        let pictures = try Plan(bench.run("--dry-run", "--json", "--pictures"))
        #expect(pictures.states["a"] == "remake" && pictures.batch?.changes.differences.count == 1)
        #expect(pictures.items.first?.tiles == 0 && (pictures.items.first?.seconds ?? 0) > 0)
        let step = try Plan(Tool(["resume", bench.output, "--dry-run", "--json", "--step-size", "0.9"]))
        #expect(step.states["a"] == "repeat" && (step.items.first?.tiles ?? 0) > 0)
        // It concerns no series of this batch.
        let tilt = try Plan(Tool(["resume", bench.output, "--dry-run", "--json", "--fix-tilt"]))
        #expect(tilt.states["a"] == "completed" && tilt.batch?.changes.differences.count == 1)
        #expect(try tree(bench.output) == before)
    }
    @Test("Counts the results that another batch has, and makes nothing")
    func reuse() throws {
        let bench = try bench()
        try bench.addVolume("c.nii", 8, 8, 8)
        let second = bench.folder("second").path
        let plan = [
            "run", bench.input, "--model", bench.model(), "--output", second, "--reuse", bench.output, "--dry-run",
        ]
        let states = try Plan(Tool(plan + ["--json"])).states
        #expect(states["a"] == "reuse" && states["c"] == "pending", "\(states)")
        let text = try Tool(plan).output
        #expect(
            text.contains("taken from another batch") && text.contains(": 1 to be taken from other batches"),
            "\(text)"
        )
        // Another option concerns the pictures only: the label map is taken over.
        let pictures = try Plan(Tool(plan + ["--json", "--pictures"]))
        #expect(pictures.states["a"] == "remake" && pictures.states["c"] == "pending", "\(pictures.states)")
        #expect(pictures.items.first?.tiles == 0 && pictures.items.first?.seconds == 0)
        #expect(try Tool(plan + ["--pictures"]).output.contains("made without inference"))
        #expect(!FileSystem.exists(second))
        let other = try Tool(["plan", bench.input, "--model", bench.model(), "--reuse", bench.input])
        #expect(other.status == 2, "\(other.errors)")
    }
}
