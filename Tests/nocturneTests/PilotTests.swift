import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A pilot")
struct PilotTests {
    @Test("processes items from all folders, stops with 75, and resume ends as a run without one")
    func spread() throws {
        let bench = try ToolBench()
        for folder in ["a", "b", "c"] {
            for index in 0..<4 { try bench.addVolume("\(folder)/\(folder)\(index).nii", 8, 8, 8) }
        }
        let options = ["--meshes", "none", "--preview", "none"]
        let pilot = try bench.run("--meshes", "none", "--preview", "none", "--pilot", "3")
        #expect(pilot.status == 75 && pilot.errors.contains("The pilot is done, 9 items left"), "\(pilot.errors)")
        let done = FileSystem.entries(bench.output).filter { FileSystem.exists(bench.output + "/\($0)/result.json") }
        #expect(Set(done.compactMap(\.first)) == ["a", "b", "c"] && done.count == 3, "\(done)")
        let resumed = try Tool(["resume", bench.output, "--order", "largest"])
        #expect(resumed.status == 0 && resumed.errors.contains("12 completed"), "\(resumed.errors)")
        let fresh = bench.folder("fresh").path
        #expect(try Tool(["run", bench.input, "--model", bench.model(), "--output", fresh] + options).status == 0)
        for file in ["batch.json", "statistics.csv", "measurements.csv"] {
            #expect(try FileSystem.read(bench.output + "/" + file) == FileSystem.read(fresh + "/" + file), "\(file)")
        }
    }
    @Test("with --approve keeps the others waiting until somebody approves it, whatever command is used")
    func approval() throws {
        let bench = try ToolBench()
        for index in 0..<3 { try bench.addVolume("v\(index).nii", 8, 8, 8) }
        let options = ["--meshes", "none", "--preview", "none"]
        let pilot = try Tool(
            [
                "run", bench.input, "--model", bench.model(), "--output", bench.output, "--pilot", "1", "--approve",
                "--no-wait",
            ]
                + options
        )
        #expect(pilot.status == 75 && pilot.errors.contains("nocturne approve \(bench.output)"), "\(pilot.errors)")
        let status = try JSONValue(parsing: Array(Tool(["status", bench.output, "--json"]).output.utf8))
        #expect(status["pause"]?["awaitsApproval"] == .boolean(true) && status["counts"]?["completed"] == .number(1))
        for (command, text) in [("continue", "nocturne approve"), ("pause", "before the pilot is approved")] {
            let refused = try Tool([command, bench.output])
            #expect(refused.status == 2 && refused.errors.contains(text), "\(refused.errors)")
        }
        let waiting = try #require(["v0", "v1", "v2"].first { !FileSystem.exists(bench.output + "/\($0)") })
        #expect(try Tool(["why", bench.output, waiting]).output.contains("once the pilot is approved"))
        let approved = try Tool(["approve", bench.output])
        #expect(approved.status == 0 && approved.output.contains("nocturne resume"), "\(approved.errors)")
        #expect(try Tool(["resume", bench.output]).status == 0)
        #expect(try Tool(["approve", bench.output]).status == 2)
    }
}
