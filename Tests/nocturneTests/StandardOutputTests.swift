import Foundation
import NocturneTestSupport
import Testing

@Suite("Standard output that cannot be written")
struct StandardOutputTests {
    /// Runs the tool with a standard output that is a full disk.
    private func written(_ arguments: [String]) throws -> Tool {
        try Tool(["-c", "exec \"$0\" \"$@\" > /dev/full", Tool.path] + arguments, program: "sh")
    }

    private func checkFault(_ arguments: [String]) throws {
        let tool = try written(arguments)
        #expect(tool.status == 1, "\(arguments): \(tool.errors)")
        #expect(
            tool.errors.hasSuffix("nocturne: standard output: cannot write: No space left on device\n"),
            "\(arguments): \(tool.errors)"
        )
    }

    @Test("is told with code 1 by every command that prints text")
    func text() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        #expect(try bench.run("--quiet").status == 0)
        let commands = [
            [], ["--help"], ["--version"], ["--generate-completion-script", "bash"],
            ["review", "titles", bench.output], ["inspect", bench.input], ["status", bench.output],
            ["plan", bench.input, "--model", bench.model()],
            ["why", bench.output, "a"], ["compare", bench.output, bench.output], ["verify", bench.output],
            ["models", "list", Fixtures.url("Models").path], ["models", "list", "--available"],
            ["models", "show", bench.model()], ["doctor"], ["resume", bench.output, "--dry-run"],
            ["run", bench.input, "--model", bench.model(), "--output", bench.output, "--dry-run"],
        ]
        for command in commands { try checkFault(command) }
        // Events of runs, whose queue is flushed at the end.
        try checkFault(["run", bench.input, "--model", bench.model(), "--output", bench.output, "--json"])
        try checkFault(["resume", bench.output, "--json"])
    }

    @Test("is no fault of the events that a trace is made of")
    func trace() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        #expect(try bench.run("--quiet").status == 0)
        try checkFault(["status", bench.output, "--format", "trace"])
        try FileManager.default.removeItem(atPath: bench.output + "/events.jsonl")
        let tool = try written(["status", bench.output, "--format", "trace"])
        #expect(tool.status == 2)
        #expect(tool.errors.contains("events.jsonl: the trace is made of this file, which cannot be read"))
    }

    /// Another program that has the pipe, such as one that runs on Node.js, can make it non-blocking for all.
    @Test("of a reader that is slow, and a pipe that does not block, is written whole")
    func nonBlocking() throws {
        let script = ["--generate-completion-script", "bash"]
        let expected = try Tool(script).output
        let pipe = Pipe()
        let writing = pipe.fileHandleForWriting.fileDescriptor
        #expect(fcntl(writing, F_SETFL, O_NONBLOCK) == 0)
        #expect(fcntl(writing, 1031, 4096) == 4096)  // F_SETPIPE_SZ
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Tool.path)
        process.arguments = script
        process.standardOutput = pipe
        try process.run()
        try pipe.fileHandleForWriting.close()
        let read = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(String(decoding: read, as: UTF8.self) == expected)
        #expect(read.count > 4096)
    }
}
