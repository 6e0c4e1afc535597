import Foundation
import NocturneBatch
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

/// `pause`, `continue` and `first` as commands to a run in other processes.
@Suite("Pause, continue and first")
struct PauseTests {
    private func bench() throws -> ToolBench {
        let bench = try ToolBench()
        for index in 0..<6 { try bench.addVolume("v\(index).nii") }
        return bench
    }

    private func started(_ bench: ToolBench) throws -> [String] {
        let lines = String(decoding: try FileSystem.read(bench.output + "/events.jsonl"), as: UTF8.self).split(
            separator: "\n"
        )
        return try lines.map { try JSONDecoder().decode(BatchEvent.self, from: Data($0.utf8)) }
            .filter { $0.event == .itemStarted }.compactMap(\.item)
    }

    private func pause(_ bench: ToolBench) throws -> JSONValue? {
        try JSONValue(parsing: Array(Tool(["status", bench.output, "--json"]).output.utf8))["pause"]
    }

    @Test("A paused run that is killed with its supervisor is paused when it is resumed, and continue finishes it")
    func killed() throws {
        let bench = try bench()
        let run = try BackgroundTool(bench, fault: "item.stage:1+:delay-100")
        let paused = try Tool(["pause", bench.output, "--for", "2h"])
        #expect(paused.status == 0 && paused.output.contains("was asked to pause until"), "\(paused.errors)")
        run.reads(until: "paused since")
        #expect(try pause(bench)?["until"] != .null && pause(bench)?["releasesMemory"] == .boolean(false))
        kill(run.supervisor, SIGKILL)
        #expect(run.wait().status == -SIGKILL)
        let ended = try started(bench).count
        let idle = try Tool(["status", bench.output])
        #expect(idle.output.contains("The next run is paused since"), "\(idle.output)")
        let first = try Tool(["first", bench.output, "v5", "v4"])
        #expect(first.status == 0 && first.output.contains("The next run begins with v5, v4"), "\(first.errors)")
        let resumed = try BackgroundTool(bench, fault: "item.stage:1+:delay-10")
        resumed.reads(until: "paused since")
        #expect(try started(bench).count == ended)
        let more = try Tool(["pause", bench.output, "--release-memory"])
        #expect(more.status == 0)
        let continued = try Tool(["continue", bench.output])
        #expect(continued.output.contains("was asked to continue"), "\(continued.errors)")
        let (status, errors) = resumed.wait()
        #expect(status == 0 && errors.contains("6 completed"), "\(errors)")
        let order = try started(bench).dropFirst(ended)
        #expect(order.prefix(2) == ["v5", "v4"], "\(order)")
        #expect(try pause(bench) == .null)
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("Without an active run there is nothing to pause or continue, and items that ended cannot come first")
    func idle() throws {
        let bench = try bench()
        #expect(try bench.run("--meshes", "none", "--preview", "none").status == 0)
        let pause = try Tool(["pause", bench.output])
        #expect(pause.status == 2 && pause.errors.contains("no run is active"), "\(pause.errors)")
        let continued = try Tool(["continue", bench.output])
        #expect(continued.status == 2 && continued.errors.contains("nocturne resume"), "\(continued.errors)")
        let first = try Tool(["first", bench.output, "v1"])
        #expect(first.status == 2 && first.errors.contains("v1 is completed"), "\(first.errors)")
        let cancelled = try Tool(["cancel", bench.output, "v1"])
        #expect(cancelled.status == 2 && cancelled.errors.contains("waits for nothing"), "\(cancelled.errors)")
        let unknown = try Tool(["first", bench.output, "v9"])
        #expect(unknown.status == 2 && unknown.errors.contains("there is no item v9"), "\(unknown.errors)")
        for options in [["--for", "0"], ["--for", "x"], ["--until", "25:00"], ["--for", "2h", "--until", "18:00"]] {
            #expect(try Tool(["pause", bench.output] + options).status == 2, "\(options)")
        }
    }

    @Test("A stored pause is forgotten by continue before the next run")
    func forgotten() throws {
        let bench = try bench()
        let run = try BackgroundTool(bench, fault: "item.stage:1+:delay-100")
        #expect(try Tool(["pause", bench.output]).status == 0)
        run.reads(until: "paused since")
        #expect(try Tool(["cancel", bench.output]).status == 0)
        #expect(run.wait().status == 130)
        let continued = try Tool(["continue", bench.output])
        #expect(continued.status == 0 && continued.output.contains("The next run will not be paused"))
        #expect(try Tool(["resume", bench.output]).status == 0)
    }
}
