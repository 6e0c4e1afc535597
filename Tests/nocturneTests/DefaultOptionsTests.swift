import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A profile and environment variables")
struct DefaultOptionsTests {
    private func options(_ bench: ToolBench) throws -> [String: String] {
        let report = try Data(contentsOf: URL(fileURLWithPath: bench.output + "/batch.json"))
        let json = try JSONSerialization.jsonObject(with: report) as? [String: Any]
        return json?["options"] as? [String: String] ?? [:]
    }

    private func bench(_ profile: String) throws -> (bench: ToolBench, profile: String) {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        return (bench, try bench.folder.write(profile, to: "night.profile").path)
    }

    @Test("set what the command line does not; the batch records it, and resume needs neither")
    func effective() throws {
        let (bench, profile) = try bench("# night\nmodel \(ToolBench().model())\nmeshes obj\nframe ras\npictures\n")
        let environment = ["NOCTURNE_MESHES": "ply", "NOCTURNE_PREVIEW": "none", "NOCTURNE_QUIET": "1"]
        let run = try Tool(
            ["run", bench.input, "--profile", profile, "--frame", "lps", "--output", bench.output],
            environment: environment
        )
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
        let before = try options(bench)
        #expect(before["meshes"] == "obj" && before["frame"] != "ras" && before["pictures"] == "yes")
        #expect(before["preview"] == "none", "\(before)")
        try FileManager.default.removeItem(atPath: profile)
        let resumed = try Tool(
            ["resume", bench.output],
            environment: ["NOCTURNE_MESHES": "stl", "NOCTURNE_PICTURES": "no", "NOCTURNE_THREADS": "1"]
        )
        #expect(resumed.status == 0 && !resumed.errors.contains("Changed"), "\(resumed.errors)")
        #expect(try options(bench) == before)
        #expect(FileSystem.files(below: bench.output + "/a").contains { $0.hasSuffix(".obj") })
    }

    @Test("serve plan and a detached run as well, once each")
    func others() throws {
        let (bench, profile) = try bench("model \(ToolBench().model())\nthreads 1\nsettle 3\nisosurface 0.5\ndetach\n")
        let plan = try Tool(["plan", bench.input, "--profile", profile, "--json"])
        #expect(plan.status == 0, "\(plan.errors)")
        let run = try Tool(["run", bench.input, "--profile=\(profile)", "--output", bench.output])
        #expect(run.status == 0 && run.errors.contains("nocturne attach"), "\(run.errors)")
        #expect(try Tool(["attach", bench.output]).status == 0)
        #expect(try options(bench)["isosurface"] == "0.5")
    }

    @Test("do not keep a flag from being taken back on the command line")
    func takenBack() throws {
        let (bench, profile) = try bench("pictures\nmeshes none\n")
        let run = try bench.run("--profile", profile, "--pictures=no")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try options(bench)["pictures"] != "yes" && options(bench)["meshes"] == "none")
        let wrong = try bench.run("--pictures=perhaps")
        #expect(wrong.status == 2 && wrong.errors.contains("write yes or no instead of 'perhaps'"), "\(wrong.errors)")
    }

    @Test("that are wrong are named")
    func wrong() throws {
        let (bench, profile) = try bench("\nmemroy 8G\n")
        let unknown = try bench.run("--profile", profile)
        #expect(unknown.status == 2)
        #expect(unknown.errors.contains("night.profile, line 2: there is no option memroy; did you mean memory?"))
        let value = try Tool(["plan", bench.input], environment: ["NOCTURNE_MEMORY": "much"])
        #expect(value.status == 2 && value.errors.contains("'much'"))
        #expect(value.errors.contains("NOCTURNE_MEMORY sets --memory."), "\(value.errors)")
        let gone = try bench.run("--profile", profile + ".gone")
        #expect(gone.status == 2 && gone.errors.contains("cannot be read: No such file"), "\(gone.errors)")
        #expect(try Tool(["run", "--help"], environment: ["NOCTURNE_QUIET": "maybe"]).status == 0)
    }

    @Test("are listed by doctor, with what they set and what is wrong")
    func doctor() throws {
        let environment = [
            "NOCTURNE_MEMORY": "8G", "NOCTURNE_MEMROY": "8G", "NOCTURNE_THREADS": "many", "NOCTURNE_SETTLE": "5",
            "NOCTURNE_MODELS": "/nowhere",
        ]
        let text = try Tool(["doctor"], environment: environment)
        #expect(text.status == 1)
        for words in [
            "NOCTURNE_MEMORY=8G sets --memory", "NOCTURNE_MEMROY has no meaning; did you mean NOCTURNE_MEMORY?",
            "1 to 1024", "NOCTURNE_SETTLE=5 sets --settle", "NOCTURNE_MODELS=/nowhere: folders in which models",
        ] { #expect(text.output.contains(words), "\(text.output)") }
        let json = try Tool(["doctor", "--json"], environment: environment)
        let schema = try JSONSchema(
            Data(contentsOf: Checkout.folder.appendingPathComponent("Samples/Schemas/doctor.schema.json"))
        )
        #expect(try schema.faults(in: Array(json.output.utf8)) == [])
        let variables = try #require(try json.json()["variables"] as? [[String: Any]])
        let memory = variables.first { $0["name"] as? String == "NOCTURNE_MEMORY" }
        #expect(memory?["option"] as? String == "--memory")
    }
}
