import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A profile")
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

    @Test("sets what the command line does not; the batch records it, and resume does not need it")
    func effective() throws {
        let (bench, profile) = try bench("# night\nmodel \(ToolBench().model())\nmeshes obj\nframe ras\npictures\n")
        let run = try Tool(["run", bench.input, "--profile", profile, "--frame", "lps", "--output", bench.output])
        #expect(run.status == 0, "\(run.errors)")
        let before = try options(bench)
        #expect(before["meshes"] == "obj" && before["frame"] == "lps" && before["pictures"] == "yes")
        let again = try Tool(["resume", bench.output, "--profile", profile])
        #expect(again.status == 0 && !again.errors.contains("Changed"), "\(again.errors)")
        try FileManager.default.removeItem(atPath: profile)
        #expect(try Tool(["resume", bench.output]).status == 0)
        #expect(try options(bench) == before)
        #expect(FileSystem.files(below: bench.output + "/a").contains { $0.hasSuffix(".obj") })
    }

    @Test("serves plan and a detached run as well")
    func others() throws {
        let (bench, profile) = try bench("model \(ToolBench().model())\nthreads 1\nisosurface 0.5\ndetach\n")
        let plan = try Tool(["plan", bench.input, "--profile", profile, "--json"])
        #expect(plan.status == 0, "\(plan.errors)")
        let run = try Tool(["run", bench.input, "--profile=\(profile)", "--output", bench.output])
        #expect(run.status == 0 && run.errors.contains("nocturne status --follow"), "\(run.errors)")
        #expect(try Tool(["status", bench.output, "--follow"]).status == 0)
        #expect(try options(bench)["isosurface"] == "0.5")
    }

    @Test("does not keep a flag from being taken back on the command line")
    func takenBack() throws {
        let (bench, profile) = try bench("pictures\nmeshes none\n")
        let run = try bench.run("--profile", profile, "--no-pictures")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try options(bench)["pictures"] == nil && options(bench)["meshes"] == "none")
    }

    @Test("with a wrong line is refused, and the line is named; variables set no option")
    func wrong() throws {
        let (bench, profile) = try bench("\nmemroy 8G\n")
        let unknown = try bench.run("--profile", profile)
        #expect(unknown.status == 2 && unknown.errors.contains("'--memory'"), "\(unknown.errors)")
        #expect(unknown.errors.contains("night.profile, line 2 has --memroy."), "\(unknown.errors)")
        let gone = try bench.run("--profile", profile + ".gone")
        #expect(gone.status == 2 && gone.errors.contains("night.profile.gone does not exist"), "\(gone.errors)")
        let plan = ["plan", bench.input, "--model", bench.model()]
        #expect(try Tool(plan, environment: ["NOCTURNE_MEMORY": "much"]).status == 0)
    }

    @Test("Variables are listed by doctor, with what they mean and those that are not known")
    func doctor() throws {
        let environment = ["NOCTURNE_MODEL": "x", "NOCTURNE_MODELS": "/usr"]
        let text = try Tool(["doctor"], environment: environment)
        for words in [
            "NOCTURNE_MODEL is not a known variable; did you mean NOCTURNE_MODELS?",
            "NOCTURNE_MODELS=/usr: folders in which models",
        ] { #expect(text.output.contains(words), "\(text.output)") }
        let json = try Tool(["doctor", "--json"], environment: environment)
        let schema = try JSONSchema(
            Data(contentsOf: Checkout.folder.appendingPathComponent("Samples/Schemas/doctor.schema.json"))
        )
        #expect(try schema.faults(in: Array(json.output.utf8)) == [])
    }
}
