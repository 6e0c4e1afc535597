import Foundation
import NocturneCore
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("nocturne verify and other JSON")
struct VerifyTests {
    private func schema(_ name: String) throws -> JSONSchema {
        try JSONSchema(Data(contentsOf: Checkout.folder.appendingPathComponent("Samples/Schemas/\(name).schema.json")))
    }

    private func faults(_ name: String, _ text: String) throws -> [String] {
        try schema(name).faults(in: Data(text.utf8))
    }

    @Test("finds nothing wrong with a batch, names what is damaged, and leaves with 3")
    func damaged() throws {
        let bench = try ToolBench()
        for name in ["a.nii", "b.nii"] { try bench.addVolume(name) }
        try bench.folder.write("cut short", to: "in/bad.nii")
        #expect(try bench.run().status == 3)
        let good = try Tool(["verify", bench.output, "--json"])
        #expect(good.status == 0)
        #expect(try faults("verification", good.output) == [])
        #expect(try good.json()["itemsChecked"] as? Int == 2)
        let path = bench.output + "/a/preview.png"
        try Data("no picture".utf8).write(to: URL(fileURLWithPath: path))
        let bad = try Tool(["verify", bench.output, "--json", "--threads", "1"])
        #expect(bad.status == 3)
        #expect(try faults("verification", bad.output) == [])
        let found = try bad.json()["faults"] as? [[String: String]]
        #expect(found?.map { $0["path"] } == [path])
        #expect(try Tool(["verify", bench.output]).output.contains("1 fault."))
    }

    @Test("A damaged journal is a fault, and the results are still compared with their own statements")
    func damagedJournal() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii")
        #expect(try bench.run().status == 0)
        let journal = URL(fileURLWithPath: bench.output + "/.nocturne/journal.sqlite")
        let bytes = try Data(contentsOf: journal)
        // All pages but the first one.
        try (bytes.prefix(4096) + Data(repeating: 0xFF, count: bytes.count - 4096)).write(to: journal)
        let tool = try Tool(["verify", bench.output])
        #expect(tool.status == 3, "\(tool.errors)")
        #expect(tool.output.contains("\(journal.path): is damaged"), "\(tool.output)")
        #expect(tool.errors.contains("Next step: move the journal away"), "\(tool.errors)")
        #expect(tool.output.contains("compared with result.json and batch.json only"), "\(tool.output)")
        #expect(tool.output.contains("1 item, ") && tool.output.contains("; 1 fault."), "\(tool.output)")
    }

    @Test("needs neither the model nor the checkout")
    func elsewhere() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii")
        #expect(try bench.run().status == 0)
        try FileManager.default.moveItem(atPath: bench.output, toPath: bench.folder("moved").path)
        let tool = try Tool(["verify", bench.folder("moved").path], environment: ["NOCTURNE_MODELS": "/nowhere"])
        #expect(tool.status == 0, "\(tool.output)")
    }

    @Test("Everything the commands print as JSON fits its schema")
    func printed() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii")
        try bench.folder.write("cut short", to: "in/bad.nii")
        let plan = try Tool(["plan", bench.input, "--model", bench.model(), "--json"])
        #expect(try faults("plan", plan.output) == [])
        let lines = try bench.run("--json").output.split(separator: "\n")
        #expect(lines.count >= 5)
        for line in lines { #expect(try faults("event", String(line)) == []) }
        let status = try Tool(["status", bench.output, "--json"])
        #expect(try faults("status", status.output) == [])
        let doctor = try Tool(["doctor", "--json", "--model", bench.model(), "--output", bench.folder("").path])
        #expect(try faults("doctor", doctor.output) == [])
        let run = try String(contentsOfFile: bench.output + "/a/run.json", encoding: .utf8)
        #expect(try faults("run", run) == [])
        let models = try Tool(
            ["models", "list", "--json"],
            environment: ["NOCTURNE_MODELS": Fixtures.url("Models").path]
        )
        #expect(try faults("models", models.output) == [])
        let known = try Tool(["models", "list", "--available", "--json"])
        #expect(try faults("known-models", known.output) == [])
        let divided = ["plan", bench.input, "--model", bench.model(), "--output", bench.folder("divided").path]
        let shards = try Tool(divided + ["--shards", "1", "--json"])
        #expect(try faults("shard-plan", shards.output) == [])
        let state = try Tool(["status", bench.folder("divided").path, "--json"])
        #expect(try faults("status", state.output) == [])
        // The schemas are able to refuse.
        #expect(try faults("status", plan.output) != [])
        #expect(try faults("doctor", status.output) != [])
    }

    @Test("Every schema is one that the program understands whole")
    func schemas() throws {
        let folder = Checkout.folder.appendingPathComponent("Samples/Schemas").path
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.count == 22)
        for name in names { _ = try JSONSchema(Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))) }
    }
}
