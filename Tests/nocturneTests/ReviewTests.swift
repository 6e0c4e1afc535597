import Foundation
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Marks of reviewers")
struct ReviewTests {
    private func finished() throws -> ToolBench {
        let bench = try ToolBench()
        for name in ["a.nii", "b.nii"] { try bench.addVolume(name, 8, 8, 8) }
        #expect(try bench.run().status == 0)
        return bench
    }

    private func fingerprint(_ item: String, _ bench: ToolBench) async throws -> String {
        try await Journal.with(path: OutputFolder(bench.output).journal) { journal in
            let found = try await journal.items().first { $0.name == item }
            return try #require(found).fingerprint
        }
    }

    private func file(_ marks: [[String: Any]], _ bench: ToolBench) throws -> String {
        let document: [String: Any] = ["schemaVersion": 1, "batch": "b", "raters": ["Ada"], "marks": marks]
        let data = try JSONSerialization.data(withJSONObject: document)
        return try bench.folder.write(Array(data), to: "review.json").path
    }

    private func mark(_ item: String, _ fingerprint: String, _ verdict: String) -> [String: Any] {
        [
            "item": item, "fingerprint": fingerprint, "object": NSNull(), "rater": "Ada", "verdict": verdict,
            "comment": "=cut off", "time": "2026-01-01T00:00:00Z",
        ]
    }

    private func report(_ bench: ToolBench) throws -> [String: [String: Any]] {
        let data = try Data(contentsOf: URL(fileURLWithPath: bench.output + "/batch.json"))
        let items = (try JSONSerialization.jsonObject(with: data) as? [String: Any])?["items"] as? [[String: Any]]
        return Dictionary(uniqueKeysWithValues: (items ?? []).map { ($0["item"] as? String ?? "", $0) })
    }

    @Test("An edited map is refused as long as the item's own files are missing or changed, and the files are named")
    func changedResult() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        #expect(try bench.run("--quiet").status == 0)
        let (map, edited) = (bench.output + "/a/segmentation.nii.gz", bench.folder("edited.nii.gz").path)
        try FileManager.default.copyItem(atPath: map, toPath: edited)
        try bench.folder.write("saved over it", to: "out/a/segmentation.nii.gz")
        let changed = try Tool(["review", "adopt", bench.output, "a", edited])
        #expect(changed.status == 2 && changed.errors.contains("\(map) is missing, or"), "\(changed.errors)")
        FileSystem.remove(map)
        let missing = try Tool(["review", "adopt", bench.output, "a", edited])
        #expect(missing.status == 2 && missing.errors.contains("\(map) is missing"), "\(missing.errors)")
        FileSystem.remove(bench.output + "/a")
        #expect(try Tool(["resume", bench.output]).status == 0)
        #expect(try Tool(["review", "adopt", bench.output, "a", edited]).status == 0)
    }

    /// A batch of one item whose labels were edited: the map has no voxel of a label any more.
    /// - Parameter file: of the model's result, to be changed first.
    private func edited(changing file: String? = nil) throws -> ToolBench {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        #expect(try bench.run("--quiet", "--step-size", "0.8").status == 0)
        if let file { try FileSystem.write(bench.output + "/a/" + file, [0]) }
        let adopted = try Tool(["review", "adopt", bench.output, "a", try emptyMap(bench), "--quiet"])
        #expect(adopted.status == 0, "\(adopted.errors)")
        return bench
    }

    private func emptyMap(_ bench: ToolBench) throws -> String {
        try bench.addVolume("edited.nii", 8, 8, 8, hasBox: false)
        let path = bench.folder("edited.nii").path
        FileSystem.remove(path)
        try FileManager.default.moveItem(atPath: bench.input + "/edited.nii", toPath: path)
        return path
    }

    private func labels(_ bench: ToolBench) throws -> [UInt8] {
        try FileSystem.read(bench.output + "/a/segmentation.nii.gz")
    }

    @Test(
        "Edited labels stay in use with options that they do not depend on, also when the journal is lost",
        arguments: [nil, "preview.png"]
    )
    func keptEdit(changing file: String?) throws {
        let bench = try edited(changing: file)
        let labels = try labels(bench)
        let pictures = try Tool(["resume", bench.output, "--pictures", "--quiet"])
        #expect(pictures.status == 0 && pictures.errors.isEmpty, "\(pictures.errors)")
        #expect(try self.labels(bench) == labels)
        let result =
            try JSONSerialization.jsonObject(
                with: Data(try FileSystem.read(bench.output + "/a/result.json"))
            ) as? [String: Any]
        #expect(result?["edited"] != nil && FileSystem.exists(bench.output + "/a/slices.png"))
        let meshes = try Tool(["resume", bench.output, "--meshes", "obj"])
        #expect(meshes.status == 0 && meshes.errors.contains("without inference"), "\(meshes.errors)")
        #expect(try self.labels(bench) == labels)
        for name in ["", "-wal", "-shm"] { FileSystem.remove(OutputFolder(bench.output).journal + name) }
        let again = try bench.run("--step-size", "0.8", "--pictures", "--meshes", "obj")
        // The result is recognized, not made again.
        #expect(again.status == 0 && !again.errors.contains("a completed"), "\(again.errors)")
        #expect(try self.labels(bench) == labels)
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("An edited map may be NRRD; one whose voxels are in another file is refused, and its name is not in results")
    func editedNRRD() throws {
        let bench = try edited()
        let labels = try labels(bench)
        let header = """
            NRRD0004
            type: uint8
            dimension: 3
            space: right-anterior-superior
            sizes: 8 8 8
            space directions: (1,0,0) (0,1,0) (0,0,1)
            space origin: (0,0,0)
            encoding: raw

            """
        try bench.folder.write(Array((header + "\n").utf8) + [UInt8](repeating: 0, count: 512), to: "JANE.seg.nrrd")
        try bench.folder.write(header + "data file: JANE.raw\n", to: "JANE.nhdr")
        try bench.folder.write([UInt8](repeating: 0, count: 512), to: "JANE.raw")
        func adopt(_ name: String) throws -> Tool {
            try Tool(["review", "adopt", bench.output, "a", bench.folder(name).path, "--quiet"])
        }
        let detached = try adopt("JANE.nhdr")
        #expect(detached.status == 2, "\(detached.errors)")
        #expect(detached.errors.contains("Its voxels are in another file"), "\(detached.errors)")
        let adopted = try adopt("JANE.seg.nrrd")
        #expect(adopted.status == 0, "\(adopted.errors)")
        #expect(try self.labels(bench) == labels)
        let result = String(decoding: try FileSystem.read(bench.output + "/a/result.json"), as: UTF8.self)
        #expect(result.contains("\"edited.nrrd\"") && !result.contains("JANE"))
        let kept = FileSystem.entries(bench.output + "/.nocturne/edited/a")
        #expect(kept.filter { $0.hasPrefix("edited.") } == ["edited.nrrd"])
    }

    @Test("The model's labels come back with the present options once the edit is undone")
    func undoneEdit() throws {
        let bench = try edited()
        let map = bench.output + "/a/segmentation-model.nii.gz"
        let labels = try FileSystem.read(map)
        #expect(try Tool(["resume", bench.output, "--pictures", "--quiet"]).status == 0)
        let undone = try Tool(["review", "adopt", bench.output, "a", "--undo"])
        #expect(undone.status == 0 && undone.errors.contains("in its place again"), "\(undone.errors)")
        #expect(try self.labels(bench) == labels && !FileSystem.exists(map))
        #expect(FileSystem.exists(bench.output + "/a/slices.png"))
        // All files that were replaced are known as Nocturne's.
        #expect(!FileSystem.exists(bench.output + "/kept"))
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("Without the source nothing is adopted or undone, and that is stated")
    func withoutSource() throws {
        let bench = try edited()
        let labels = try labels(bench)
        let (source, away) = (bench.input + "/a.nii", bench.folder("away.nii").path)
        try FileManager.default.moveItem(atPath: source, toPath: away)
        for last in [try emptyMap(bench), "--undo"] {
            let refused = try Tool(["review", "adopt", bench.output, "a", last])
            #expect(refused.status == 2, "\(refused.errors)")
            #expect(refused.errors.contains("a source file of a was not found"), "\(refused.errors)")
            #expect(try self.labels(bench) == labels)
        }
        try FileManager.default.moveItem(atPath: away, toPath: source)
        #expect(try Tool(["review", "adopt", bench.output, "a", "--undo", "--quiet"]).status == 0)
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("Options that labels depend on replace edited labels by the model's only when that is confirmed")
    func lostEdit() throws {
        let bench = try edited()
        let labels = try labels(bench)
        let loss = "Labels that people have edited are replaced by the model's: a."
        for quiet in [[], ["--quiet"]] {
            let refused = try Tool(["resume", bench.output, "--step-size", "0.9"] + quiet)
            #expect(refused.status == 2 && refused.errors.contains(loss), "\(refused.errors)")
            #expect(refused.errors.contains("Give --yes to continue"), "\(refused.errors)")
        }
        let shown = try Tool(["resume", bench.output, "--step-size", "0.9", "--dry-run"])
        #expect(shown.status == 0 && shown.output.contains(loss), "\(shown.output)")
        #expect(try Tool(["resume", bench.output]).status == 0)
        #expect(try self.labels(bench) == labels)
        #expect(try Tool(["resume", bench.output, "--step-size", "0.9", "--yes"]).status == 0)
        #expect(try self.labels(bench) != labels)
        // With the options before they apply again.
        #expect(try Tool(["resume", bench.output, "--step-size", "0.8"]).status == 0)
        #expect(try self.labels(bench) == labels)
    }

    @Test("An item that waits with an edited map is processed from it in a shard, too")
    func editInShard() async throws {
        let bench = try ToolBench()
        for name in ["a.nii", "b.nii"] { try bench.addVolume(name, 8, 8, 8) }
        #expect(try bench.run("--quiet", "--pilot", "1").status == 75)
        let (output, map) = (OutputFolder(bench.output), try emptyMap(bench))
        let item = try #require(
            try await Journal.with(path: output.journal) { try await $0.items(in: .completed) }.first
        )
        let folder = output.item(item.name)
        try await EditedLabels.keep(map, for: item, map: folder + "/segmentation.nii.gz", in: output, SystemTime())
        let divided = try Tool(["resume", bench.output, "--shards", "1"])
        #expect(divided.status == 0 && divided.output.contains("2 items"), "\(divided.output) \(divided.errors)")
        #expect(try Tool(["run", bench.output, "--shard", "1/1", "--quiet"]).status == 0)
        #expect(try Tool(["merge", bench.output]).status == 0)
        #expect(FileSystem.exists(folder + "/segmentation-model.nii.gz"))
        #expect(try Tool(["resume", bench.output, "--pictures", "--quiet"]).status == 0)
        #expect(FileSystem.exists(folder + "/segmentation-model.nii.gz"))
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("They come back, stand in the report, select what is processed again, and then no longer count")
    func roundTrip() async throws {
        let bench = try finished()
        let (a, b) = (try await fingerprint("a", bench), String(repeating: "0", count: 64))
        let path = try file([mark("a", a, "fail"), mark("b", b, "fail"), mark("x", a, "pass")], bench)
        let imported = try Tool(["review", bench.output, "--import", path])
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(
            imported.output.contains(
                "2 marks by Ada: 0 pass, 2 fail, 0 questionable. 1 is of a result that has changed"
            )
        )
        #expect(imported.output.contains("Left out: 1 item that this batch does not have, such as x."))
        let items = try report(bench)
        #expect((items["a"]?["marks"] as? [[String: Any]])?.first?["verdict"] as? String == "fail")
        #expect((items["b"]?["marks"] as? [Any])?.isEmpty == true)
        let table = try String(contentsOfFile: bench.output + "/statistics.csv", encoding: .utf8)
        #expect(table.contains("\na,above,voxelCount,") && table.contains(",fail,"))
        #expect(try Tool(["verify", bench.output]).status == 0)
        let status = try Tool(["status", bench.output])
        #expect(status.output.contains(": 0 of 1 marked results passed"), "\(status.output)")
        let reviewed = try Tool(["status", bench.output, "--json"]).json()["reviewed"] as? [[String: Any]]
        #expect(reviewed?.count == 1 && reviewed?.first?["results"] as? Int == 1, "\(String(describing: reviewed))")
        #expect(reviewed?.first?["resultsPassed"] as? Int == 0 && reviewed?.first?["objects"] as? Int == 0)
        let listed = try Tool(["review", bench.output, "--list", "fail"])
        #expect(listed.output == bench.input + "/a.nii\n")
        let events = try Tool(["resume", bench.output, "--reviewed", "fail", "--json"])
        #expect(events.status == 0, "\(events.errors)")
        let completed = events.output.split(separator: "\n").filter { $0.contains("\"itemCompleted\"") }
        #expect(completed.count == 1 && completed.first?.contains("\"a\"") == true)
        // The result is the same, so is its fingerprint: the mark counts until somebody changes it.
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test(
        "A file that is no review is refused with what is wrong",
        arguments: [
            ("not json", "not a file of the review page"), ("{}", "schemaVersion is missing"),
            (#"{"schemaVersion":2,"batch":"","raters":[],"marks":[]}"#, "schemaVersion is 2; this version"),
            (
                #"{"schemaVersion":1,"batch":"","raters":[],"marks":[{"item":"a","fingerprint":"","object":null,"#
                    + #""rater":"","verdict":"pass","comment":"","time":""}]}"#, "has no rater"
            ),
            (
                #"{"schemaVersion":1,"batch":"","raters":[],"marks":[{"item":"a","fingerprint":"","object":null,"#
                    + #""rater":"r","verdict":"good","comment":"","time":""}]}"#,
                "not a file of the review page"
            ),
        ]
    )
    func refused(text: String, reason: String) throws {
        let bench = try finished()
        let path = try bench.folder.write(text, to: "review.json").path
        let tool = try Tool(["review", bench.output, "--import", path])
        #expect(tool.status == 2 && tool.errors.contains(path) && tool.errors.contains(reason), "\(tool.errors)")
    }

    @Test("A file that is not there, and a folder without a batch, are named")
    func missing() throws {
        let bench = try finished()
        let path = bench.folder("none.json").path
        let tool = try Tool(["review", bench.output, "--import", path])
        #expect(tool.status == 2 && tool.errors.contains("\(path) does not exist"), "\(tool.errors)")
        let empty = try Tool(["review", bench.input])
        #expect(empty.status == 2 && empty.errors.contains("holds no batch"), "\(empty.errors)")
    }

    @Test("The page is written with the report, and again when it was lost")
    func page() throws {
        let bench = try finished()
        let page = bench.output + "/index.html"
        let before = try String(contentsOfFile: page, encoding: .utf8)
        try FileManager.default.removeItem(atPath: page)
        try FileManager.default.removeItem(atPath: bench.output + "/review")
        #expect(try Tool(["review", bench.output]).status == 0)
        #expect(try String(contentsOfFile: page, encoding: .utf8) == before)
        #expect(FileManager.default.fileExists(atPath: bench.output + "/review/data/items-0000.js"))
    }
}
