import Foundation
import NocturneTestSupport
import Testing

@Suite("Completion in shells")
struct CompletionTests {
    /// What a shell's completion script asks for: candidates for a word of a command.
    /// - Parameter word: the beginning that was typed.
    private func offered(_ command: [String], _ argument: String, _ word: String, models: String = "") throws
        -> [String]
    {
        let request = ["---completion"] + command + ["--", argument, "0", "\(word.count)", word]
        let environment = [
            "NOCTURNE_MODELS": models, "XDG_DATA_HOME": "/nowhere", "SAP_SHELL": "bash", "SAP_SHELL_VERSION": "5",
        ]
        let tool = try Tool(request, environment: environment)
        #expect(tool.status == 0, "\(tool.errors)")
        return tool.output.split(separator: "\n").map(String.init)
    }

    @Test("offers the names of models on the search path, or folders", arguments: [["run"], ["doctor"]])
    func models(command: [String]) throws {
        let bench = try ToolBench()
        let models = [bench.model(), bench.model("classes-4")].joined(separator: ":")
        #expect(try offered(command, "--model", "", models: models) == ["classes-4", "threshold"])
        #expect(try offered(command, "--model", "th", models: models) == ["threshold"])
        let folder = (bench.model() as NSString).deletingLastPathComponent
        #expect(try offered(command, "--model", folder + "/thresh", models: models).first == folder + "/threshold/")
    }

    @Test(
        "offers folders that hold a batch, or folders on the way to one",
        arguments: ["status", "resume", "verify"]
    )
    func batches(command: String) throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        #expect(try bench.run("--quiet").status == 0)
        let root = bench.folder.url.path
        #expect(try offered([command], "positional@0", root + "/") == [root + "/out"])
        #expect(try offered([command], "positional@0", root + "/i") == [root + "/in/"])
        #expect(try offered([command], "positional@0", root + "/none") == [])
    }

    @Test("offers no names with characters that a shell gives a meaning")
    func plainNames() throws {
        let bench = try ToolBench()
        for name in ["a$(touch b)", "a`id`", "a b", "a'b", "a\\b", "a;b", "aé_1-2.3"] {
            try FileManager.default.createDirectory(at: bench.folder(name), withIntermediateDirectories: true)
        }
        let root = bench.folder.url.path
        #expect(try offered(["status"], "positional@0", root + "/a") == [root + "/aé_1-2.3/"])
    }

    @Test("has a script for each shell, with the commands", arguments: ["bash", "zsh", "fish"])
    func scripts(shell: String) throws {
        let tool = try Tool(["--generate-completion-script", shell])
        #expect(tool.status == 0 && tool.output.contains("profile") && tool.output.contains("---completion"))
    }
}
