import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Places for results that are likely a mistake")
struct OutputPlaceTests {
    /// The names of everything in a folder, also of hidden files.
    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
    }

    @Test("an input, the home folder and the root are refused, and nothing is written there")
    func refused() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii")
        let home = bench.folder("home").path
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        let link = bench.folder("link").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: bench.input)
        let before = try names(bench.folder("").path)
        for (place, what) in [
            (bench.input, "one of the inputs"), (bench.input + "/", "one of the inputs"), (link, "one of the inputs"),
            (home, "your home folder"), ("/", "the root of the file system"),
        ] {
            let tool = try Tool(
                ["run", bench.input, "--model", bench.model(), "--output", place],
                environment: ["HOME": home]
            )
            #expect(tool.status == 2 && tool.errors.contains(what) && tool.errors.contains("Choose"), "\(tool.errors)")
        }
        for command in ["run", "watch"] {
            let tool = try Tool([command, bench.input, "--model", bench.model(), "--output", ""])
            #expect(tool.status == 2 && tool.errors.contains("--output is empty"), "\(tool.errors)")
        }
        #expect(try names(bench.folder("").path) == before)
        #expect(FileSystem.kind("/.nocturne") == .nothing)
    }

    @Test("a run that is refused at its start leaves nothing", arguments: ["nothing", "missing", "memory"])
    func removed(case name: String) throws {
        let bench = try ToolBench()
        if name == "memory" { try bench.addVolume("v.nii") }
        let input = name == "missing" ? bench.input + "/missing" : bench.input
        let options = name == "memory" ? ["--memory", "1M"] : []
        let command = ["run", input, "--model", bench.model(), "--output", bench.output] + options
        let tool = try Tool(command)
        #expect(tool.status == (name == "nothing" ? 4 : 2), "\(tool.errors)")
        #expect(FileSystem.kind(bench.output) == .nothing)
        // What a user has there stays.
        try bench.folder.write("mine", to: "out/notes.txt")
        #expect(try Tool(command).status == tool.status)
        #expect(try names(bench.output) == ["notes.txt"])
    }

    @Test("a folder that is moved ends a watch with a code of its own", arguments: ["run", "watch"])
    func moved(command: String) throws {
        let bench = try ToolBench()
        for name in ["v.nii", "w.nii"] { try bench.addVolume(name, 8, 8, 8) }
        let moving = "mv '\(bench.output)' '\(bench.folder("moved").path)'"
        let settle = command == "watch" ? ["--settle", "0"] : []
        let options = ["--model", bench.model(), "--output", bench.output, "--threads", "1", "--on-item", moving]
        let tool = try Tool([command, bench.input] + options + settle)
        #expect(tool.status == (command == "watch" ? 74 : 75), "\(tool.errors)")
        #expect(tool.errors.contains("Continue with: nocturne resume"), "\(tool.errors)")
    }

    @Test("a limit on the size of files is named where the journal reaches it")
    func sizeLimit() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", 8, 8, 8)
        // In units of 512 or 1024 bytes.
        let script = "ulimit -f 20; exec \"$0\" run \"$1\" --model \"$2\" --output \"$3\""
        let tool = try Tool(["-c", script, Tool.path, bench.input, bench.model(), bench.output], program: "sh")
        #expect(tool.status == 1 && tool.errors.contains("ulimit -f limits files of this process"), "\(tool.errors)")
    }

    @Test("a batch that was begun is never removed")
    func kept() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii")
        #expect(try bench.run().status == 0)
        try bench.addVolume("w.nii")
        #expect(try bench.run("--memory", "1M").status == 2)
        #expect(try Tool(["verify", bench.output]).output.contains("1 item,"))
        #expect(try bench.run().status == 0)
    }
}
