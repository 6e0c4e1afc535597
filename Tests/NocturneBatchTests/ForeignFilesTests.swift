import Foundation
import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

/// What a person has in the output folder stays there, whatever a run does.
@Suite("Files of others in the output folder")
struct ForeignFilesTests {
    /// Items whose results would lie where the files of others are.
    private func recipe(named name: String) -> TextRecipe {
        TextRecipe().finding { discovery in
            for index in discovery.items.indices { discovery.items[index].name = name }
        }
    }

    private func place(_ files: [String: String], in folder: String) throws {
        for (path, text) in files {
            let parent = (folder + "/" + path as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            try FileSystem.write(folder + "/" + path, Array(text.utf8))
        }
    }

    private func expectUntouched(_ files: [String: String], in folder: String) throws {
        for (path, text) in files {
            let found = try? FileSystem.read(folder + "/" + path)
            #expect(found == Array(text.utf8), "\(path)")
        }
    }

    private func text(_ path: String) throws -> String { String(decoding: try FileSystem.read(path), as: UTF8.self) }

    @Test("A case folder with slices and another tool's result.json is left as it is: the result goes beside it")
    func sourceFolder() async throws {
        let bench = try TextBatch(["case1": "scan"])
        var files = Dictionary(uniqueKeysWithValues: (0..<62).map { ("case1/slice\($0).dcm", "slice \($0)") })
        files["case1/result.json"] = "{\"tool\":\"another\",\"fingerprint\":\"\(String(repeating: "0", count: 64))\"}"
        try place(files, in: bench.output.path)
        for overwrite in [false, true] {
            let outcome = try await bench.again().run(recipe(named: "case1")) { $0.rules.isChangeConfirmed = overwrite }
            #expect(outcome.counts.completed == 1 && outcome.counts.failed == 0)
            try expectUntouched(files, in: bench.output.path)
        }
        let results = FileSystem.entries(bench.output.path).filter { $0.hasPrefix("case1-") }
        #expect(results.count == 1)
        #expect(try bench.text(results[0]) == "SCAN")
    }

    @Test("A folder that comes while the run works, where a result belongs, is not replaced: the item fails")
    func lateFolder() async throws {
        let bench = try TextBatch(["a": "one"])
        let files = ["a/result.json": "{}", "a/notes.txt": "mine"]
        let outcome = try await bench.run(
            TextRecipe { stage, _ in if stage == .render { try place(files, in: bench.output.path) } }
        )
        #expect(outcome.counts.failed == 1)
        #expect(try bench.events("itemFailed").first?.contains("is not a result of this batch") == true)
        try expectUntouched(files, in: bench.output.path)
    }

    @Test("A reviewer's files stay in a result folder that is replaced; a result that was edited is kept aside")
    func reviewer() async throws {
        let bench = try TextBatch(["a": "one"])
        _ = try await bench.run(TextRecipe())
        let files = ["a/review.txt": "looks fine", "a/notes/second.txt": "deep"]
        try place(files, in: bench.output.path)
        try bench.write("a", "another text")
        _ = try await bench.again().run(TextRecipe())
        #expect(try bench.text("a") == "ANOTHER TEXT")
        try expectUntouched(files, in: bench.output.path)
        #expect(try bench.events("note").contains { $0.contains("2 files in its folder") })

        try FileSystem.write(bench.output.item("a") + "/result.json", Array("corrected".utf8))
        _ = try await bench.again().run(TextRecipe())
        #expect(try bench.text("a") == "ANOTHER TEXT")
        #expect(try text(bench.output.path + "/kept/a/result.json") == "corrected")
        try expectUntouched(files, in: bench.output.path)
    }

    @Test("A result of before is replaced after a run that was cut off between its decision and its commit")
    func cutOff() async throws {
        let bench = try TextBatch(["a": "one"])
        _ = try await bench.run(TextRecipe())
        try bench.write("a", "another text")
        let run = bench.again()
        let stopped = try await run.run(
            TextRecipe { [control = run.control] stage, _ in
                guard stage == .write else { return }
                control.drain()
                throw FileSystemError(operation: "write", path: "x", code: ENOSPC)
            }
        )
        #expect(stopped.counts.notReached == 1)
        #expect(try bench.text("a") == "ONE")
        #expect(try await bench.again().run(TextRecipe()).counts.completed == 1)
        #expect(try bench.text("a") == "ANOTHER TEXT")
        #expect(!FileSystem.exists(bench.output.path + "/kept"))
    }

    @Test(
        "A person's own file with the name of a report refuses the first run, before anything is written",
        arguments: ["batch.json", "statistics.csv", "retry.txt", "events.jsonl", "contact-sheet.pdf"]
    )
    func ownReports(name: String) async throws {
        let bench = try TextBatch(["a": "one"])
        let files = [name: "mine\n"]
        try place(files, in: bench.output.path)
        let before = FileSystem.entries(bench.output.path)
        let error = await #expect(throws: BatchError.self) {
            try await bench.run(TextRecipe()) { $0.createsOutput = false }
        }
        #expect(error?.description.contains(name) == true)
        #expect(FileSystem.entries(bench.output.path) == before)
        try expectUntouched(files, in: bench.output.path)
    }

    @Test("A replacement that was cut off between two renames is undone")
    func twoRenames() async throws {
        let bench = try TextBatch(["a": "one"])
        _ = try await bench.run(TextRecipe())
        try place(["a/review.txt": "mine"], in: bench.output.path)
        // As a file system without exchanging leaves it when the power fails.
        let replaced = bench.output.hidden + "/replaced"
        try FileSystem.makeFolder(replaced)
        try FileSystem.move(bench.output.item("a"), to: replaced + "/a")
        #expect(try await bench.again().run(TextRecipe()).counts.completed == 1)
        try expectUntouched(["a/review.txt": "mine"], in: bench.output.path)
        #expect(FileSystem.entries(replaced).isEmpty)
    }

    @Test("Whatever others have put there, every byte stays in its place", arguments: 0..<40)
    func anyFiles(seed: Int) async throws {
        var random = SplitMix64(seed: UInt64(seed))
        let names = ["a", "b", "c", "d"]
        let bench = try TextBatch(Dictionary(uniqueKeysWithValues: names.map { ($0, "word \($0)") }))
        var files: [String: String] = [:]
        func add(inside folders: [String]) throws {
            let inner = ["result.json", "run.json", "labels.nii.gz", "x/result.json", "meshes/a.stl", "slice.dcm"]
            var new: [String: String] = [:]
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let folder = folders.randomElement(using: &random) ?? "a"
                let path = folder + "/" + (inner.randomElement(using: &random) ?? "y")
                // What the batch wrote itself is not a file of others.
                guard files[path] == nil, FileSystem.kind(bench.output.path + "/" + path) == .nothing else { continue }
                new[path] = "\(seed) \(path) \(UInt64.random(in: 0...(.max), using: &random))"
            }
            try place(new, in: bench.output.path)
            files.merge(new) { first, _ in first }
        }
        try add(inside: names + ["e", "kept", "kept/a", "mine"])
        for round in 0..<4 {
            let outcome = try await bench.again().run(TextRecipe()) { $0.rules.isChangeConfirmed = round == 2 }
            #expect(outcome.counts.completed == 4, "seed \(seed), round \(round)")
            try expectUntouched(files, in: bench.output.path)
            try add(inside: FileSystem.entries(bench.output.path).filter { !$0.contains(".") } + ["new"])
            if let name = names.randomElement(using: &random) { try bench.write(name, "round \(round)") }
        }
    }
}
