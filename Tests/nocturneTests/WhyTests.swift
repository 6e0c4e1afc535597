import Foundation
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("nocturne why")
struct WhyTests {
    private let bench: ToolBench

    init() throws {
        bench = try ToolBench()
        try bench.addVolume("good.nii", 8, 8, 8)
        try bench.folder.write("cut short", to: "in/bad.nii")
        try bench.addVolume("left/out.nii", 8, 8, 8)
        _ = try bench.run("--meshes", "none", "--preview", "none", "--exclude", "left/*")
    }

    private func why(_ item: String) throws -> Tool { try Tool(["why", bench.output, item]) }

    @Test("shows what a result was made of, by name and by path, and what the next run does")
    func completed() throws {
        for name in ["good", bench.input + "/good.nii"] {
            let found = try why(name)
            #expect(found.status == 0, "\(found.errors)")
            for text in ["good: completed", "model: threshold", "seconds: load ", "itemCompleted", "next: nothing"] {
                #expect(found.output.contains(text), "\(text): \(found.output)")
            }
        }
        let past = Date(timeIntervalSince1970: 1_000_000_000)
        try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: bench.input + "/good.nii")
        let changed = try why("good").output
        #expect(changed.contains("changed: \(bench.input)/good.nii"), "\(changed)")
        #expect(changed.contains("makes the result again"), "\(changed)")
        let lock = try BatchLock(OutputFolder(bench.output))
        defer { withExtendedLifetime(lock) {} }
        let watched = try why("good").output
        #expect(watched.contains("next: if the active run is a watch, it processes it again once"), "\(watched)")
    }

    @Test("shows why an item failed and what helps")
    func failed() throws {
        let found = try why("bad").output
        for text in [
            "bad: failed", "reason: ", "(nifti.", "advice: ",
            "`nocturne resume \(bench.output) --failed` tries it again",
        ] {
            #expect(found.contains(text), "\(text): \(found)")
        }
        let json = try Tool(["why", bench.output, "bad", "--json"])
        let document = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
        let schema = Checkout.folder.appendingPathComponent("Samples/Schemas/why.schema.json")
        let good = try Tool(["why", bench.output, "good", "--json"])
        for output in [json.output, good.output] {
            #expect(try JSONSchema(Data(contentsOf: schema)).faults(in: Array(output.utf8)) == [])
        }
        let items = try #require(document?["items"] as? [[String: Any]])
        #expect(items.count == 1 && items[0]["state"] as? String == "failed" && items[0]["result"] is NSNull)
        // It was refused when it was found, and never changed its state.
        #expect(items[0]["model"] as? String == "threshold" && items[0]["changed"] is NSNull)
        let completed = try #require(try good.json()["items"] as? [[String: Any]])
        #expect(completed.count == 1 && completed[0]["changed"] is String)
        let status = try Tool(["status", bench.output, "--json"]).json()
        let failure = try #require(status["failures"] as? [[String: Any]]).first
        #expect(failure?["model"] as? String == "threshold" && failure?["changed"] is NSNull)
    }

    @Test("A result whose source was deleted stays, and an item without one waits for its source")
    func deletedSource() throws {
        for name in ["good", "bad"] { FileSystem.remove(bench.input + "/\(name).nii") }
        let good = try why("good").output
        #expect(good.contains("missing: \(bench.input)/good.nii"), "\(good)")
        #expect(good.contains("next: nothing: its source no longer exists, and the result stays"), "\(good)")
        #expect(try why("bad").output.contains("next: nothing until its source exists again"))
    }

    @Test("A result that has left the batch counts again once its input is found")
    func withdrawn() throws {
        _ = try bench.run("--meshes", "none", "--preview", "none", "--exclude", "good*", "--yes")
        let found = try why("good").output
        #expect(found.contains("good: skipped") && found.contains("next: nothing until it is found again"), "\(found)")
    }

    @Test("tells why an input became no item")
    func absent() throws {
        let excluded = try why(bench.input + "/left/out.nii")
        #expect(excluded.status == 4 && excluded.output.contains("left out by --include or --exclude (left/*)"))
        let elsewhere = try bench.folder.write("x", to: "other/a.nii").path
        #expect(try why(elsewhere).output.contains("not below the inputs of the batch: \(bench.input)"))
        #expect(
            try why("goo").output.contains("no item is called goo") && why("goo").output.contains("such a name: good")
        )
        try bench.addVolume("late.nii", 8, 8, 8)
        #expect(try why(bench.input + "/late.nii").output.contains("no item of the last run has"))
        for path in [bench.input, bench.input + "/"] {
            let folder = try why(path)
            #expect(folder.status == 4 && folder.output.contains("is a folder of the inputs, with 2 items. Give"))
        }
    }
}
