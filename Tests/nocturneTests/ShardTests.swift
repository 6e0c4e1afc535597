import Foundation
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A batch that is divided into shards")
struct ShardTests {
    /// Six volumes and a file that is none.
    private func bench() throws -> ToolBench {
        let bench = try ToolBench()
        for index in 0..<6 { try bench.addVolume("v\(index).nii", 20 + index) }
        try bench.folder.write("no image", to: "in/notes.txt")
        return bench
    }

    private func plan(_ bench: ToolBench, _ output: String, shards: Int, _ more: String...) throws -> Tool {
        try Tool(
            ["plan", bench.input, "--model", bench.model(), "--output", output, "--shards", "\(shards)"] + more
        )
    }

    /// Everything but what may differ between two runs, by path.
    private func tree(_ folder: String) throws -> [String: String] {
        var result: [String: String] = [:]
        for path in FileSystem.files(below: folder)
        where !path.hasPrefix(".nocturne/") && !path.hasSuffix("run.json") && path != "events.jsonl" {
            result[path] = try FileSystem.digest(folder + "/" + path).digest.hex
        }
        return result
    }

    @Test("the merged tree is that of one machine, whatever the order, repetitions and crashes")
    func merged() throws {
        let bench = try bench()
        #expect(try bench.run().status == 0)
        let output = bench.folder("divided").path
        // Not the set that most machines have, but that of the undivided run.
        let result = String(decoding: try FileSystem.read(bench.output + "/v0/result.json"), as: UTF8.self)
        let isa = try #require(result.firstMatch(of: /"instructionSet" ?: ?"([a-z0-9-]+)/)).output.1
        let planned = try plan(bench, output, shards: 3, "--isa", String(isa))
        #expect(planned.status == 0 && planned.output.contains("6 items in 3 shards"), "\(planned.errors)")
        // Not begun yet, and reported so.
        #expect(try Tool(["merge", output]).status == 75)
        #expect(try Tool(["status", output]).output.contains("3 not begun"))
        let crashed = try Tool(
            ["run", output, "--shard", "2/3", "--fault-injection"],
            environment: ["NOCTURNE_FAULT": "item.stage:1:kill"]
        )
        #expect(crashed.status == 0, "\(crashed.errors)")
        #expect(try Tool(["run", output, "--shard", "1/3"]).status == 0)
        // Done twice on purpose.
        #expect(try Tool(["run", output, "--shard", "1/3"]).status == 0)
        let open = try Tool(["merge", output])
        #expect(open.status == 75 && open.output.contains("Items wait in 1 shard: 3 (waiting)"), "\(open.output)")
        let array = ["SLURM_ARRAY_TASK_ID": "12", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "3"]
        #expect(try Tool(["run", output, "--shard", "auto"], environment: array).status == 0)
        #expect(try Tool(["status", output]).output.contains("Use: nocturne merge"))
        let merged = try Tool(["merge", output])
        #expect(merged.status == 0, "\(merged.errors)")
        #expect(try tree(output) == tree(bench.output))
        #expect(try Tool(["verify", output]).status == 0)
        // Again, and as an ordinary batch.
        #expect(try Tool(["merge", output]).status == 0)
        #expect(try Tool(["resume", output]).status == 0)
        #expect(try tree(output) == tree(bench.output))
        let events = try String(contentsOfFile: output + "/events.jsonl", encoding: .utf8)
        #expect(events.components(separatedBy: #""event":"itemCompleted""#).count - 1 == 6)
    }

    @Test("commands for a whole batch refuse a divided one, and name what to do")
    func refused() throws {
        let bench = try bench()
        #expect(try plan(bench, bench.output, shards: 2).status == 0)
        for command in [["resume"], ["resume", "--failed"], ["verify"], ["review"]] {
            let tool = try Tool(command + [bench.output])
            #expect(tool.status == 2 && tool.errors.contains("nocturne merge"), "\(command): \(tool.errors)")
        }
        let followed = try Tool(["status", bench.output, "--follow"])
        #expect(followed.status == 2 && followed.errors.contains("nocturne status --refresh"), "\(followed.errors)")
        #expect(try bench.run().errors.contains("divided into 2 shards"))
        #expect(try plan(bench, bench.output, shards: 2).errors.contains("holds a batch already"))
        for shard in ["3/3", "2/2/2", "0/2", "3/2", "auto"] {
            #expect(try Tool(["run", bench.output, "--shard", shard]).status == 2, "\(shard)")
        }
        let fixed = try Tool(["run", bench.output, "--shard", "1/2", "--preview", "none", "--precision", "exact"])
        #expect(fixed.status == 2 && fixed.errors.contains("--precision, --preview"), "\(fixed.errors)")
        let cancel = try Tool(["cancel", bench.output])
        #expect(cancel.status == 2 && cancel.errors.contains("no run is active on a shard"))
        // Given up, one machine does it.
        #expect(try Tool(["merge", bench.output, "--close"]).status == 75)
        #expect(try Tool(["run", bench.output, "--shard", "1/2"]).errors.contains("not divided"))
        #expect(try Tool(["resume", bench.output]).status == 0)
    }

    @Test("a source that changed after the plan fails, and is tried again in new shards")
    func changed() throws {
        let bench = try bench()
        #expect(try plan(bench, bench.output, shards: 2, "--preview", "none").status == 0)
        try bench.addVolume("v3.nii", 30)
        let codes = try (1...2).map { try Tool(["run", bench.output, "--shard", "\($0)/2"]).status }
        #expect(codes.sorted() == [0, 3])
        #expect(try Tool(["merge", bench.output]).status == 3)
        let status = try Tool(["status", bench.output])
        #expect(status.output.contains("“v3.nii” has changed since the plan was made"), "\(status.output)")
        // As the file is now.
        let retried = try Tool(["resume", bench.output, "--failed", "--shards", "1"])
        #expect(retried.status == 0 && retried.output.contains("1 item in 1 shard"), "\(retried.errors)")
        #expect(try Tool(["run", bench.output, "--shard", "1/1"]).status == 0)
        #expect(try Tool(["merge", bench.output]).status == 0)
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("an input that the plan cannot read has its event, and is divided once it is repaired")
    func unreadable() throws {
        let bench = try bench()
        let whole = try FileSystem.read(bench.input + "/v0.nii")
        for name in ["short", "shorter"] { try bench.folder.write(Array(whole.dropLast(10)), to: "in/\(name).nii") }
        #expect(try plan(bench, bench.output, shards: 1, "--preview", "none").status == 0)
        #expect(try Tool(["run", bench.output, "--shard", "1/1"]).status == 0)
        #expect(try Tool(["merge", bench.output]).status == 3)
        let verified = try Tool(["verify", bench.output])
        #expect(verified.status == 0, "\(verified.output)")
        let retry = ["resume", bench.output, "--failed", "--shards", "1"]
        let none = try Tool(retry)
        #expect(none.status == 4 && none.errors.contains("2 items in no shard: short (refused: "), "\(none.errors)")
        try bench.folder.write(whole, to: "in/short.nii")
        let divided = try Tool(retry)
        #expect(divided.status == 0 && divided.output.contains("1 item in 1 shard"), "\(divided.errors)")
        #expect(divided.errors.contains("1 item in no shard: shorter (refused: "), "\(divided.errors)")
        #expect(try Tool(["run", bench.output, "--shard", "1/1"]).status == 0)
        #expect(try Tool(["merge", bench.output]).output.contains("7 completed, 1 failed"))
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("what failed is divided again, and the batch is complete then")
    func again() throws {
        let bench = try bench()
        #expect(try plan(bench, bench.output, shards: 2, "--preview", "none").status == 0)
        let fault = ["NOCTURNE_FAULT": "item.stage@v0:1+:kill"]
        let codes = try (1...2).map {
            try Tool(["run", bench.output, "--shard", "\($0)/2", "--fault-injection"], environment: fault).status
        }
        #expect(codes.sorted() == [0, 3])
        let failed = try #require(codes.firstIndex(of: 3)) + 1
        #expect(try Tool(["run", bench.output, "--shard", "\(failed)/2", "--failed-items-ok"]).status == 0)
        #expect(try Tool(["merge", bench.output]).status == 3)
        let divided = try Tool(["resume", bench.output, "--failed", "--shards", "4"])
        #expect(
            divided.status == 0 && divided.output.contains("1 item in 1 shard"),
            "\(divided.output) \(divided.errors)"
        )
        #expect(try Tool(["run", bench.output, "--shard", "1/1"]).status == 0)
        #expect(try Tool(["merge", bench.output]).status == 0)
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("marks and titles stay where a shard makes a result again equal, and are lost with a note where it does not")
    func additions() async throws {
        let bench = try ToolBench()
        for index in 0..<2 { try bench.addVolume("v\(index).nii", 20 + index) }
        #expect(try bench.run("--preview", "none").status == 0)
        let journal = OutputFolder(bench.output).journal
        try await Journal.with(path: journal) { journal in
            for item in try await journal.items() {
                let (name, fingerprint) = (item.name, item.fingerprint)
                let mark = ReviewMark(item: name, fingerprint: fingerprint, rater: "AB", verdict: .pass, time: "")
                try await journal.keep([mark])
                let title = ObjectText.Field(name: "title", value: "Ulysses")
                try await journal.keep([ObjectText(item: name, fingerprint: fingerprint, object: 1, fields: [title])])
            }
        }
        let earlier = Date(timeIntervalSince1970: 1_000_000_000)
        try FileManager.default.setAttributes([.modificationDate: earlier], ofItemAtPath: bench.input + "/v0.nii")
        try bench.addVolume("v1.nii", 30)
        let fault = ["NOCTURNE_FAULT": "item.stage@v0:1+:kill,item.stage@v1:1+:kill"]
        let run = ["run", bench.input, "--model", bench.model(), "--output", bench.output]
        let options = ["--preview", "none", "--fault-injection"]
        #expect(try Tool(run + options, environment: fault).status == 3)
        let divided = try Tool(["resume", bench.output, "--failed", "--shards", "2"])
        #expect(divided.output.contains("2 items in 2 shards"), "\(divided.output) \(divided.errors)")
        for shard in 1...2 { #expect(try Tool(["run", bench.output, "--shard", "\(shard)/2"]).status == 0) }
        #expect(try Tool(["merge", bench.output]).status == 0)

        try await Journal.with(path: journal) { journal in
            let items = try await journal.items()
            #expect(try await journal.marks().current(for: items).map(\.item) == ["v0"])
            #expect(try await journal.texts().current(for: items).count == 1)
            #expect(try await journal.marks().count == 2)
        }
        let events = try String(contentsOfFile: bench.output + "/events.jsonl", encoding: .utf8)
        #expect(!events.contains("v0: the new result"))
        #expect(events.contains("v1: the new result does not have 2 marks and imported texts of earlier ones"))
    }

    @Test("outputs that could not be made are counted over all shards, and end the merge with 3")
    func missingOutputs() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", 20)
        let series = bench.input + "/series"
        let sample = Checkout.folder.appendingPathComponent("Samples/Volumes/dicom-axial-head-first").path
        try FileManager.default.copyItem(atPath: sample, toPath: series)
        let slices = try FileManager.default.contentsOfDirectory(atPath: series).sorted()
        // Names are in no order: at least one of three slices lies between others.
        for place in 1...3 {
            try FileManager.default.removeItem(atPath: series + "/" + slices[slices.count * place / 4])
        }
        let arguments = ["plan", bench.input, "--model", bench.model("threshold-native"), "--output", bench.output]
        let options = ["--shards", "2", "--fix-tilt", "--dicom-seg", "--meshes", "none", "--preview", "none"]
        #expect(try Tool(arguments + options).status == 0)
        for shard in 1...2 { _ = try Tool(["run", bench.output, "--shard", "\(shard)/2"]) }
        // The second time the batch is whole.
        for _ in 1...2 {
            let merged = try Tool(["merge", bench.output])
            #expect(merged.status == 3, "\(merged.errors)")
            #expect(merged.output.contains("1 without an output that was asked for"), "\(merged.output)")
        }
        let status = try Tool(["status", bench.output])
        #expect(status.output.contains("Without an output that was asked for: series"), "\(status.output)")
        let incomplete = try Tool(["status", bench.output, "--json"]).json()["incomplete"] as? [String: Any]
        #expect(incomplete?["items"] as? Int == 1 && (incomplete?["example"] as? String)?.hasPrefix("series") == true)
    }

    @Test("a shard without a journal is lost, not finished; the others are merged, and its items are processed again")
    func lost() throws {
        let bench = try bench()
        #expect(try plan(bench, bench.output, shards: 3, "--preview", "none").status == 0)
        for shard in 1...3 { #expect(try Tool(["run", bench.output, "--shard", "\(shard)/3"]).status == 0) }
        let shards = bench.output + "/.nocturne/shards/"
        try FileManager.default.removeItem(atPath: shards + "2")
        try Data("no database".utf8).write(to: URL(fileURLWithPath: shards + "3/journal.sqlite"))
        for file in ["-wal", "-shm"] { FileSystem.remove(shards + "3/journal.sqlite" + file) }
        #expect(try Tool(["status", bench.output]).output.contains("1 finished, 2 lost"))
        for shard in ["2/3", "3/3"] {
            let tool = try Tool(["run", bench.output, "--shard", shard])
            #expect(tool.status == 2 && tool.errors.contains("missing or damaged"), "\(tool.errors)")
        }
        let merged = try Tool(["merge", bench.output])
        #expect(merged.status == 75 && merged.output.contains("2 (lost), 3 (lost)"), "\(merged.output)")
        #expect(try Tool(["merge", bench.output, "--close"]).status == 75)
        #expect(try Tool(["resume", bench.output]).status == 0)
        // Results that are there are recognised; the events of the lost folder are not, which `verify` names.
        #expect(try tree(bench.output).keys.count { $0.hasSuffix("/result.json") } == 6)
    }

    @Test("a refused job that merges is reported with what to do, and both jobs get the account")
    func submitted() throws {
        let bench = try bench()
        #expect(try plan(bench, bench.output, shards: 1).status == 0)
        let script = """
            #!/bin/sh
            cat > /dev/null
            case "$*" in *--account=x*) ;; *merge_*) echo "no account" >&2; exit 1 ;; esac
            echo 7

            """
        let sbatch = try bench.folder.write(script, to: "bin/sbatch")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: sbatch.path)
        let path = bench.folder("bin").path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
        let refused = try Tool(["submit", bench.output], environment: ["PATH": path])
        #expect(refused.status == 2 && refused.output.contains("Job 7 processes 1 shard"), "\(refused.output)")
        let words = "the job that merges was not submitted: sbatch refused the job: no account. Once job 7 has ended"
        #expect(refused.errors.contains("\(words), use `nocturne merge "), "\(refused.errors)")
        let taken = try Tool(["submit", bench.output, "--", "--account=x"], environment: ["PATH": path])
        #expect(taken.status == 0 && taken.output.contains("Job 7 merges afterwards"), "\(taken.errors)")
    }

    @Test("a node without the pinned instruction set stops with 75 and says so")
    func instructionSet() throws {
        let bench = try bench()
        let plan = try Tool(
            [
                "plan", bench.input, "--model", bench.model(), "--output", bench.output, "--shards", "1", "--isa",
                "baseline",
            ]
        )
        #expect(plan.status == 0 && plan.output.contains("all machines use baseline"))
        // As a plan that was made on a larger machine.
        let journal = bench.output + "/.nocturne/journal.sqlite"
        let sql = #"UPDATE setting SET value = replace(value, '"baseline"', '"amx-9"') WHERE key = 'shards'"#
        #expect(
            try Tool(
                [
                    "-c", "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()",
                    journal, sql,
                ],
                program: "python3"
            ).status == 0
        )
        let tool = try Tool(["run", bench.output, "--shard", "1/1"])
        #expect(tool.status == 75 && tool.errors.contains("does not have the instruction set amx-9"), "\(tool.errors)")
    }
}
