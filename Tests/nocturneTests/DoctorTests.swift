import Foundation
import NocturneTestSupport
import Testing

@Suite("The look at the machine")
struct DoctorTests {
    @Test("says what is there, and leaves nothing behind")
    func healthy() throws {
        let bench = try ToolBench()
        let tool = try Tool(["doctor", "--output", bench.folder("later/on").path, "--json", "--model", bench.model()])
        #expect(tool.status == 0, "\(tool.errors)")
        let findings = try #require(try tool.json()["findings"] as? [[String: String]])
        let subjects = Set(findings.compactMap { $0["subject"] })
        #expect(subjects.isSuperset(of: ["processor", "memory", "clock", "libraries", "disk", "renames", "one patch"]))
        let processor = findings.first { $0["subject"] == "processor" }?["fact"] ?? ""
        #expect(processor.contains("; instruction set "), "\(processor)")
        let libraries = findings.first { $0["subject"] == "libraries" }?["fact"] ?? ""
        for library in ["DCMTK 3.", "zlib 1.", "libpng 1.", "libtiff 4.", "SQLite 3.", "OpenJPEG 2.", "cairo 1."] {
            #expect(libraries.contains(library), "\(libraries)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.url.path) == ["in"])
    }

    @Test("the viewer of review pages is named where it is installed")
    func viewer() throws {
        try TemporaryFolder.with { folder in
            for name in ["niivue.js", "niivue-LICENSE.txt"] { try Data("x".utf8).write(to: folder(name)) }
            let found = try Tool(["doctor"], environment: ["NOCTURNE_NIIVUE": folder.path])
            #expect(found.output.contains("NiiVue in "), "\(found.output)")
            let nowhere = ["NOCTURNE_NIIVUE": "/nowhere", "XDG_DATA_HOME": "/nowhere"]
            #expect(try Tool(["doctor"], environment: nowhere).output.contains("NiiVue is not installed"))
        }
    }

    @Test("a folder of models that is not there is a warning")
    func models() throws {
        try TemporaryFolder.with { folder in
            let missing = try Tool(["doctor"], environment: ["NOCTURNE_MODELS": folder.path + ":/nowhere"])
            #expect(missing.status == 0 && missing.output.contains("there is no folder /nowhere"), "\(missing.output)")
            let found = try Tool(["doctor"], environment: ["NOCTURNE_MODELS": folder.path])
            #expect(found.output.contains("\(folder.path): folders in which models"), "\(found.output)")
        }
    }

    @Test("an engine that is there and cannot be used is a warning with the reason, and not called missing")
    func engine() throws {
        try TemporaryFolder.with { folder in
            let tool = try Tool(["doctor"], environment: ["NOCTURNE_ONNXRUNTIME": folder.path])
            #expect(tool.status == 0 && tool.output.contains("which does not contain libonnxruntime"), "\(tool.output)")
            #expect(!tool.output.contains("not installed; networks"), "\(tool.output)")
        }
    }

    @Test("An instruction set that is not known is a fault, and refused by every command that runs networks")
    func instructionSet() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        let environment = ["NOCTURNE_ISA": "AVX2"]
        let words = "There is no instruction set AVX2; there are baseline, avx2"
        let doctor = try Tool(["doctor"], environment: environment)
        #expect(doctor.status == 1)
        #expect(doctor.output.contains("NOCTURNE_ISA=AVX2: \(words)"), "\(doctor.output)")
        let commands = [
            ["run", bench.input, "--model", bench.model(), "--output", bench.output],
            ["plan", bench.input, "--model", bench.model()], ["models", "check", bench.model()],
        ]
        for command in commands {
            let tool = try Tool(command, environment: environment)
            #expect(tool.status == 2 && tool.errors.contains(words), "\(tool.errors)")
        }
        for known in ["", "baseline"] {
            #expect(try Tool(commands[1], environment: ["NOCTURNE_ISA": known]).status == 0)
        }
    }

    @Test("the cores are those that the process may run on")
    func affinity() throws {
        guard Tool.answers("taskset", ["--version"]) else { return }
        let tool = try Tool(["-c", "0", Tool.path, "doctor"], program: "taskset")
        #expect(tool.output.contains("1 core for this process"), "\(tool.output)")
    }

    @Test("A folder that cannot be written and a package that does not run are faults")
    func faults() throws {
        let tool = try Tool(["doctor", "--output", "/proc/nowhere"])
        #expect(tool.status == 1)
        #expect(tool.output.contains("FAULT"))
        let bench = try ToolBench()
        try FileManager.default.copyItem(atPath: bench.model(), toPath: bench.folder("model").path)
        try Data([1, 2, 3]).write(to: bench.folder("model/network.onnx"))
        for model in [bench.folder("model").path, "nothing-such"] {
            let found = try Tool(["doctor", "--model", model])
            #expect(found.status == 1 && found.output.contains("FAULT"), "\(found.errors)")
            #expect(found.output.contains("instruction set"), "\(found.output)")
        }
    }
}
