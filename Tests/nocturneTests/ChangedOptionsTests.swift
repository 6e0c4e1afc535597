import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("An existing batch with changed options")
struct ChangedOptionsTests {
    private func bench() throws -> ToolBench {
        let bench = try ToolBench()
        for name in ["a.nii", "b.nii"] { try bench.addVolume(name, 8, 8, 8) }
        #expect(try bench.run("--quiet", "--meshes", "obj").status == 0)
        return bench
    }

    private func digests(_ folder: String) throws -> [String: String] {
        var result: [String: String] = [:]
        for path in FileSystem.files(below: folder)
        where !path.hasPrefix(".nocturne/") && !path.hasSuffix("run.json") && path != "events.jsonl" {
            result[path] = try FileSystem.digest(folder + "/" + path).digest.hex
        }
        return result
    }

    @Test("resume takes them and keeps the others: the tree is that of a new batch")
    func resume() throws {
        let bench = try bench()
        let resumed = try Tool(["resume", bench.output, "--pictures"])
        #expect(resumed.status == 0, "\(resumed.errors)")
        #expect(resumed.errors.contains("--pictures was not given, now yes"), "\(resumed.errors)")
        #expect(resumed.errors.contains("2 of 2 results are made again, without inference"), "\(resumed.errors)")
        let fresh = bench.folder("fresh").path
        let command = [
            "run", bench.input, "--model", bench.model(), "--output", fresh, "--meshes", "obj", "--pictures",
        ]
        #expect(try Tool(command).status == 0)
        #expect(try digests(bench.output) == digests(fresh))
        // The same options again change nothing, and nothing is said.
        let again = try Tool(["resume", bench.output, "--pictures", "--meshes", "obj"])
        #expect(again.status == 0 && !again.errors.contains("Changed"), "\(again.errors)")
        let view = try Tool(["resume", bench.output, "--view"])
        let step = "does not make pictures of volumes, which resume cannot change. Repeat its `nocturne run` command"
        #expect(view.status == 2 && view.errors.contains(step), "\(view.errors)")
        // Back to the default, which is a value like any other.
        #expect(try Tool(["resume", bench.output, "--failed", "--meshes", "stl"]).status == 0)
        let files = FileSystem.files(below: bench.output + "/a")
        #expect(files.contains { $0.hasSuffix(".stl") } && !files.contains { $0.hasSuffix(".obj") })
        #expect(files.contains("slices.png"))
    }

    @Test("A result whose source was deleted stays and is named; it is made again once its source is back")
    func deletedSource() throws {
        let bench = try bench()
        FileSystem.remove(bench.input + "/a.nii")
        let unchanged = try Tool(["resume", bench.output])
        #expect(unchanged.status == 0, "\(unchanged.errors)")
        let note = "1 result stays, but its source was not found (a). If the source no longer exists, `nocturne forget"
        #expect(unchanged.errors.contains(note), "\(unchanged.errors)")
        let resumed = try Tool(["resume", bench.output, "--pictures"])
        #expect(resumed.status == 0 && resumed.errors.contains("1 of 2 results are made again"), "\(resumed.errors)")
        #expect(resumed.errors.contains(note), "\(resumed.errors)")
        #expect(try Tool(["verify", bench.output]).status == 0)
        try bench.addVolume("a.nii", 8, 8, 8)
        let back = try Tool(["resume", bench.output])
        #expect(back.status == 0, "\(back.errors)")
        #expect(FileSystem.exists(bench.output + "/a/slices.png"))
    }

    @Test("options that no recipe of the batch takes are refused, and nothing is changed")
    func refused() throws {
        let bench = try bench()
        let before = try digests(bench.output)
        let crops = try Tool(["resume", bench.output, "--crops", "jpeg:200"])
        #expect(crops.status == 2 && crops.errors.contains("'jpeg:QUALITY (1 to 100)'"), "\(crops.errors)")
        let added = try Tool(["resume", bench.output, "--existing-labels"])
        #expect(added.status == 2 && added.errors.contains("does not read existing labels"), "\(added.errors)")
        #expect(try digests(bench.output) == before)
    }

    @Test("run needs --yes where nobody can be asked, and says what is affected")
    func run() throws {
        let bench = try bench()
        let refused = try bench.run("--pictures", "--meshes", "obj")
        #expect(refused.status == 2 && refused.errors.contains("--yes"), "\(refused.errors)")
        let run = try bench.run("--pictures", "--meshes", "obj", "--yes")
        #expect(run.status == 0 && run.errors.contains("2 of 2 results are made again"), "\(run.errors)")
        // Neither volume has a tilt.
        let tilt = try bench.run("--pictures", "--meshes", "obj", "--fix-tilt", "--yes")
        #expect(tilt.status == 0 && tilt.errors.contains("No result is made again."), "\(tilt.errors)")
    }

    /// `script` gives the program a terminal, whose input is a text.
    private func onTerminal(_ answer: String, _ arguments: [String], _ bench: ToolBench) throws -> Tool {
        let command = ([Tool.path] + arguments).map { "'\($0)'" }.joined(separator: " ")
        try bench.folder.write(answer + "\n", to: "answer")
        let line = "script -qec \"\(command)\" /dev/null < '\(bench.folder("answer").path)'"
        return try Tool(["-c", line], program: "sh")
    }

    @Test("a terminal is asked before inference is repeated, and before run changes anything")
    func asked() throws {
        guard Tool.answers("script", ["--version"]) else { return }
        let bench = try bench()
        let before = try digests(bench.output)
        let no = try onTerminal("n", ["resume", bench.output, "--step-size", "0.9"], bench)
        #expect(no.output.contains("Continue? [y/N]") && no.output.contains("Nothing was changed"), "\(no.output)")
        #expect(no.status == 75)
        #expect(try digests(bench.output) == before)
        #expect(try Tool(["resume", bench.output, "--dry-run"]).output.contains("Nothing is left"))
        let same = ["run", bench.input, "--model", bench.model(), "--output", bench.output, "--meshes", "stl"]
        let yes = try onTerminal("y", same, bench)
        #expect(yes.status == 0 && yes.output.contains("--meshes was obj, now stl"), "\(yes.output)")
        #expect(try digests(bench.output) != before)
        let unasked = try onTerminal("n", ["resume", bench.output, "--step-size", "0.9", "--yes"], bench)
        #expect(unasked.status == 0 && !unasked.output.contains("Continue?"), "\(unasked.output)")
        // Not worth a question.
        let cheap = try onTerminal("n", ["resume", bench.output, "--pictures"], bench)
        #expect(cheap.status == 0 && !cheap.output.contains("Continue?"), "\(cheap.output)")
    }
}
