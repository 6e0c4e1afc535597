import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

/// The tool made to die and to fail on purpose; Tools/proofs/fault_matrix.py does it at every point.
@Suite("Faults on purpose")
struct FaultTests {
    private func account(_ bench: ToolBench) throws -> [String: Any] {
        let data = try Data(contentsOf: URL(fileURLWithPath: bench.output + "/batch.json"))
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }

    @Test("are refused in an ordinary run")
    func refused() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii")
        let command = ["run", bench.input, "--model", bench.model(), "--output", bench.output]
        let ordinary = try Tool(command, environment: ["NOCTURNE_FAULT": "file.write:1:EIO"])
        #expect(ordinary.status == 2)
        #expect(ordinary.errors.contains("NOCTURNE_FAULT"))
        #expect(!FileManager.default.fileExists(atPath: bench.output))
        for words in ["file.write", "nowhere:1:kill", "file.write:0:kill", "file.write:1:ruin", "file.write:x:EIO"] {
            let unread = try Tool(command + ["--fault-injection"], environment: ["NOCTURNE_FAULT": words])
            #expect(unread.status == 2, "\(words)")
            #expect(unread.errors.contains("is not a fault specification"))
        }
    }

    @Test(
        "a fault that goes away is not seen in the results",
        arguments: [
            "file.write:2:ENOSPC", "file.flush:1:EIO", "input.open:1:EIO", "item.exchange:2:EIO", "item.inPlace:1:EIO",
            "item.inPlace:1:kill", "journal.transaction:1:kill", "journal.open:1:ENOSPC", "journal.record:1:ENOSPC",
            "batch.report:1:ENOSPC", "folder.create:1:ENOSPC", "folder.create:1:EIO", "file.create:3:EDQUOT",
            "item.staged:1:delay-200,disk.flush:1:EIO",
        ]
    )
    func passing(fault: String) throws {
        let bench = try ToolBench()
        for index in 0..<5 { try bench.addVolume("v\(index).nii") }
        let command = ["run", bench.input, "--model", bench.model(), "--fault-injection", "--output", bench.output]
        let tool = try Tool(command + ["--preview", "none"], environment: ["NOCTURNE_FAULT": fault])
        #expect(tool.status == 0, "\(tool.errors)")
        #expect((try account(bench)["counts"] as? [String: Any])?["completed"] as? Int == 5)
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("a lack of memory fails a photo, and takes nothing from its result", arguments: 6...10)
    func memory(pass: Int) throws {
        let bench = try ToolBench()
        let photo = Checkout.folder.appendingPathComponent("Samples/Photos/lesions/lesion-01.jpg")
        try FileManager.default.copyItem(at: photo, to: bench.folder("in/a.jpg"))
        let model = Fixtures.url("PhotoModels/primary").path
        let command = ["run", bench.input, "--model", model, "--fault-injection", "--output", bench.output]
        let tool = try Tool(command, environment: ["NOCTURNE_FAULT": "memory.allocate:\(pass):ENOSPC"])
        #expect([0, 3].contains(tool.status), "\(tool.errors)")
        #expect(FileSystem.exists(bench.output + "/a/attention.json") == (tool.status == 0), "\(tool.errors)")
        #expect(tool.errors.contains("no memory for a buffer") == (tool.status == 3), "\(tool.errors)")
        #expect(try Tool(["resume", bench.output, "--failed"]).status == 0)
        #expect(FileSystem.exists(bench.output + "/a/attention.json"))
    }

    @Test("an item that hangs fails after its time, blames no other, and the others are done")
    func hangs() throws {
        let bench = try ToolBench()
        for name in ["a.nii", "stuck.nii", "z.nii"] { try bench.addVolume(name) }
        let command = ["run", bench.input, "--model", bench.model(), "--fault-injection", "--output", bench.output]
        let tool = try Tool(
            command + ["--item-timeout", "1s"],
            environment: ["NOCTURNE_FAULT": "item.stage@stuck:1:hang"]
        )
        #expect(tool.status == 3, "\(tool.errors)")
        let items = try account(bench)["items"] as? [[String: Any]] ?? []
        let reasons = items.filter { $0["state"] as? String != "completed" }.map { $0["reason"] as? String ?? "" }
        #expect(reasons == ["took longer than the 1.0 s that an item may take (stage load)"])
        #expect(items.count == 3)
    }

    @Test("a file that does not answer is told apart before anything depends on it, and is done when it answers")
    func silent() throws {
        let bench = try ToolBench()
        for name in ["a.nii", "stuck.nii", "z.dcm"] { try bench.addVolume(name) }
        let command = ["run", bench.input, "--model", bench.model(), "--output", bench.output]
        for (name, completed) in [("stuck.nii", 1), ("z.dcm", 2)] {
            let tool = try Tool(
                command + ["--fault-injection", "--item-timeout", "1s", "--failed"],
                environment: ["NOCTURNE_FAULT": "input.answer@\(name):1:hang"]
            )
            #expect(tool.status == 3, "\(tool.errors)")
            let items = try account(bench)["items"] as? [[String: Any]] ?? []
            let silent = items.filter { ($0["reason"] as? String)?.contains("did not respond within 1 s") == true }
            #expect(silent.map { $0["item"] as? String } == [name == "z.dcm" ? "z.dcm" : "stuck"])
            #expect((try account(bench)["counts"] as? [String: Any])?["completed"] as? Int == completed)
            #expect(items.count == 3)
        }
    }

    @Test("an item that takes too long is stopped without another engine")
    func late() throws {
        let bench = try ToolBench()
        for name in ["a.nii", "b.nii"] { try bench.addVolume(name) }
        let command = ["run", bench.input, "--model", bench.model(), "--fault-injection", "--output", bench.output]
        let tool = try Tool(
            command + ["--item-timeout", "4s"],
            environment: ["NOCTURNE_FAULT": "inference.tile:2:delay-4600"]
        )
        #expect(tool.status == 3, "\(tool.errors)")
        #expect(tool.errors.contains("took longer than the 4.0 s"))
        #expect(!tool.errors.contains("engine crashed"))
        #expect((try account(bench)["counts"] as? [String: Any])?["completed"] as? Int == 1)
    }

    @Test("a volume goes on from its checkpoint when the engine was killed while it kept one")
    func checkpoints() throws {
        let bench = try ToolBench()
        try bench.addVolume("long.nii", 24, 24, 96)
        let command = ["run", bench.input, "--model", bench.model(), "--fault-injection", "--output", bench.output]
        for options in [[], ["--probabilities"]] {
            for fault in ["checkpoint.write:2:kill", "checkpoint.flush:2:kill"] {
                let tool = try Tool(command + ["--yes"] + options, environment: ["NOCTURNE_FAULT": fault])
                #expect(tool.status == 0, "\(tool.errors)")
                #expect(tool.errors.contains("engine crashed"), "\(fault) was not reached")
                try FileManager.default.removeItem(atPath: bench.output)
            }
        }
    }

    @Test("the engine goes with its parent, and the batch is gone on with")
    func killedParent() throws {
        let bench = try ToolBench()
        for index in 0..<3 { try bench.addVolume("v\(index).nii") }
        let command = ["run", bench.input, "--model", bench.model(), "--output", bench.output]
        let killed = try Tool(
            command + ["--fault-injection"],
            environment: ["NOCTURNE_FAULT": "item.staged:1:kill-parent,item.inPlace:1+:hang"]
        )
        #expect(killed.status == -9)
        // Refused with 2 when the engine still had the folder.
        #expect(try Tool(command).status == 0)
        #expect((try account(bench)["counts"] as? [String: Any])?["completed"] as? Int == 3)
    }

    @Test("an item that kills the engine whenever it is worked on is quarantined, and the others are done")
    func poison() throws {
        let bench = try ToolBench()
        for name in ["a.nii", "poison.nii", "z.nii"] { try bench.addVolume(name) }
        let command = ["run", bench.input, "--model", bench.model(), "--fault-injection", "--output", bench.output]
        let tool = try Tool(command, environment: ["NOCTURNE_FAULT": "item.stage@poison:1+:kill"])
        #expect(tool.status == 3)
        let counts = try account(bench)["counts"] as? [String: Any]
        #expect(counts?["completed"] as? Int == 2)
        #expect(counts?["quarantined"] as? Int == 1)
        let retry = try String(contentsOfFile: bench.output + "/retry.txt", encoding: .utf8)
        #expect(
            retry.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init) == [bench.input + "/poison.nii"]
        )
    }

    @Test("an engine that dies whenever it takes stock ends the batch, and nothing that an earlier run left is accused")
    func deathInDiscovery() throws {
        let bench = try ToolBench()
        for name in ["a.nii", "b.nii", "c.nii"] { try bench.addVolume(name) }
        let command = ["run", bench.input, "--model", bench.model(), "--output", bench.output]
        let killed = try Tool(
            command + ["--fault-injection"],
            environment: ["NOCTURNE_FAULT": "item.stage@b:2:kill-group"]
        )
        #expect(killed.status == -9)
        // Marked as active, although no engine works on them.
        let dying = try Tool(
            command + ["--fault-injection"],
            environment: ["NOCTURNE_FAULT": "journal.record:1+:kill"]
        )
        #expect(dying.status == 1)
        #expect(dying.errors.contains("three times while no item was active"), "\(dying.errors)")
        #expect(try Tool(command).status == 0)
        let events = try String(contentsOfFile: bench.output + "/events.jsonl", encoding: .utf8)
        #expect(events.contains("The engine crashed: signal 9 (Killed)"))
        #expect(events.contains("Active items: none."))
    }

    @Test("should memory run out, the kernel takes the engine and not its supervisor")
    func victim() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Tool.path)
        process.arguments = [
            "run", bench.input, "--model", bench.model(), "--output", bench.output, "--fault-injection",
        ]
        process.environment = ProcessInfo.processInfo.environment.merging(["NOCTURNE_FAULT": "item.stage:1:hang"]) {
            $1
        }
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer {
            process.terminate()
            process.terminate()
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        func score(_ pid: String) throws -> Int {
            let text = try String(contentsOfFile: "/proc/\(pid)/oom_score_adj", encoding: .utf8)
            return try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        }
        let pid = process.processIdentifier
        var engine = ""
        blockThread { !process.isRunning || FileManager.default.fileExists(atPath: bench.output + "/events.jsonl") }
        for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task") {
            engine += try String(contentsOfFile: "/proc/\(pid)/task/\(thread)/children", encoding: .utf8)
        }
        engine = engine.trimmingCharacters(in: .whitespaces)
        let ours = try score("\(pid)")
        #expect(try score(engine) == min(ours + 300, 1000))
    }
}
