import Foundation
import NocturneBatch
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

/// The supervisor and its engine as processes.
@Suite("Supervision")
struct SupervisionTests {
    private func bench(_ count: Int = 2) throws -> ToolBench {
        let bench = try ToolBench()
        for index in 0..<count { try bench.addVolume("v\(index).nii") }
        return bench
    }

    private func holder(_ bench: ToolBench) throws -> BatchLock.Holder {
        try #require(BatchLock.state(of: OutputFolder(bench.output)).holder)
    }

    /// Replaces what the lock file says while a run is active.
    private func write(_ bytes: [UInt8], _ bench: ToolBench) throws {
        try FileSystem.write(OutputFolder(bench.output).lock, bytes)
    }

    @Test(
        "Signals that would end a process are ignored by both",
        arguments: [SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXFSZ, SIGSTKFLT]
    )
    func ignored(signal: Int32) throws {
        let run = try BackgroundTool(try bench(), fault: "item.stage:1:delay-300")
        kill(run.supervisor, signal)
        kill(try run.engine(), signal)
        let (status, errors) = run.wait()
        #expect(status == 0 && !errors.contains("engine crashed"), "\(errors)")
    }

    @Test("A limit of processor time stops the batch, which says how to continue", arguments: [SIGXCPU, SIGPWR])
    func limits(signal: Int32) throws {
        let bench = try bench()
        let run = try BackgroundTool(bench, fault: "item.stage:1+:delay-500")
        kill(run.supervisor, signal)
        let (status, errors) = run.wait()
        #expect(status == 143 && errors.contains("nocturne resume"), "\(errors)")
        #expect(try Tool(["resume", bench.output]).status == 0)
    }

    @Test("A restarted engine waits for a model package that was moved away, and completes once it is back")
    func movedPackage() throws {
        let bench = try bench()
        let (package, away) = (bench.folder.path + "/package", bench.folder.path + "/away")
        try FileManager.default.copyItem(atPath: bench.model(), toPath: package)
        let run = try BackgroundTool(bench, fault: "item.stage:1:hang", model: package)
        try FileManager.default.moveItem(atPath: package, toPath: away)
        kill(try run.engine(), SIGKILL)
        run.reads(until: "waiting until the package can be used again")
        #expect(run.isRunning)
        try FileManager.default.moveItem(atPath: away, toPath: package)
        let (status, errors) = run.wait()
        #expect(status == 0, "\(errors)")
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("A run whose standard input and output are closed is complete")
    func closed() throws {
        let bench = try bench()
        let command = [Tool.path, "run", bench.input, "--model", bench.model(), "--output", bench.output]
        let tool = try Tool(["-c", #"exec "$0" "$@" <&- >&- 2>&-"#] + command, program: "sh")
        #expect(tool.status == 0)
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("A list of inputs that cannot be read from standard input ends the run before an engine is started")
    func unreadableList() throws {
        let bench = try bench()
        let command = [Tool.path, "run", "--list", "-", "--model", bench.model(), "--output", bench.output]
        let tool = try Tool(["-c", #"exec "$0" "$@" < /"#] + command, program: "sh")
        #expect(tool.status == 1, "\(tool.errors)")
        #expect(tool.errors.contains("cannot read the list of inputs from standard input"), "\(tool.errors)")
        #expect(!FileSystem.exists(bench.output), "\(tool.errors)")
    }

    @Test(
        "Without /proc the program ends with 1, and names it",
        .enabled(if: Tool.answers("unshare", ["-m", "umount", "-l", "/proc"]), "it cannot be taken away here")
    )
    func withoutProc() throws {
        let command = "umount -l /proc && exec \"$0\" --version"
        let tool = try Tool(["-m", "sh", "-c", command, Tool.path], program: "unshare")
        #expect(tool.status == 1 && tool.errors.contains("/proc cannot be read"), "\(tool.errors)")
    }

    @Test("The supervisor starts no threads of a library")
    func light() throws {
        let run = try BackgroundTool(try bench(), fault: "item.stage:1:delay-300")
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(run.supervisor)/task")
        #expect(threads.count == 1)
        #expect(run.wait().status == 0)
    }

    @Test("No core dump is written of either, so that no patient's name is in one")
    func cores() throws {
        let bench = try bench()
        var prefix: [String] = []
        if geteuid() == 0 {
            // The files of a process that may be dumped belong to its user.
            guard Tool.answers("setpriv", ["--version"]) else { return }
            for path in [bench.folder.path, bench.input] { chmod(path, 0o777) }
            prefix = ["setpriv", "--reuid", "65534", "--clear-groups"]
        }
        let run = try BackgroundTool(bench, fault: "item.stage:1:delay-300", prefix: prefix)
        for process in [run.supervisor, try run.engine()] {
            let owner = try FileManager.default.attributesOfItem(atPath: "/proc/\(process)/status")[.ownerAccountID]
            #expect((owner as? NSNumber)?.intValue == 0)
        }
        #expect(run.wait().status == 0)
    }

    @Test("cancel from another container leaves a request that the run finds, and signals no process here")
    func foreign() throws {
        let bench = try bench()
        let run = try BackgroundTool(bench, fault: "item.stage:1+:delay-500")
        let victim = Process()
        victim.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        victim.arguments = ["sleep", "600"]
        try victim.run()
        defer {
            kill(victim.processIdentifier, SIGKILL)
            victim.waitUntilExit()
        }
        var holder = try holder(bench)
        holder.process = ProcessIdentity(
            process: victim.processIdentifier,
            startTicks: holder.process.startTicks,
            bootID: holder.process.bootID,
            pidNamespace: "pid:[1]",
            host: "elsewhere"
        )
        try write(try StableJSON.encodeLine(holder), bench)
        let cancel = try Tool(["cancel", bench.output])
        #expect(cancel.status == 0 && cancel.output.contains("on elsewhere will find the request"), "\(cancel.output)")
        #expect(run.wait().status == 130)
        // It may block signals, as the threads of tests do: none may wait for it either.
        #expect(victim.isRunning)
        let state = try String(contentsOfFile: "/proc/\(victim.processIdentifier)/status", encoding: .utf8)
        #expect(state.contains("ShdPnd:\t0000000000000000") && state.contains("SigPnd:\t0000000000000000"))
    }

    @Test("cancel signals nobody when the lock file is damaged", arguments: ["-1\n", "garbage", ""])
    func damaged(text: String) throws {
        let bench = try bench()
        let run = try BackgroundTool(bench, fault: "item.stage:1:hang")
        try write(Array(text.utf8), bench)
        let cancel = try Tool(["cancel", bench.output])
        #expect(cancel.status == 2 && cancel.errors.contains("nothing was sent"), "\(cancel.errors)")
        let status = try Tool(["status", bench.output])
        #expect(status.output.contains("A run is active"))
        kill(run.supervisor, SIGKILL)
        #expect(run.wait().status == -SIGKILL)
    }

    @Test("cancel of this machine's run is heard at once")
    func cancel() throws {
        let bench = try bench()
        let run = try BackgroundTool(bench, fault: "item.stage:1+:delay-500")
        let process = try holder(bench).process
        #expect(process.process == (try run.engine()) && process.isRunningHere)
        let cancel = try Tool(["cancel", bench.output])
        #expect(cancel.output.contains("Process \(process.process) was asked to stop"))
        let (status, errors) = run.wait()
        #expect(status == 130 && errors.contains("nocturne resume"))
    }

    @Test("status names only files that there are")
    func files() throws {
        let bench = try bench()
        let run = try BackgroundTool(bench, fault: "item.stage:1:hang")
        let active = try Tool(["status", bench.output])
        #expect(active.output.contains("is running the batch") && !active.output.contains("batch.json"))
        kill(run.supervisor, SIGKILL)
        #expect(run.wait().status == -SIGKILL)
        let killed = try Tool(["status", bench.output])
        // The report of the start says that nothing was reached yet.
        for name in ["batch.json", "retry.txt"] {
            #expect(killed.output.contains(name) && FileSystem.exists(bench.output + "/" + name))
        }
        for name in ["batch.json", "retry.txt"] { FileSystem.remove(bench.output + "/" + name) }
        let bare = try Tool(["status", bench.output])
        #expect(!bare.output.contains("batch.json") && !bare.output.contains("retry.txt"))
        #expect(try Tool(["resume", bench.output]).status == 0)
        #expect(try Tool(["status", bench.output]).output.contains("batch.json"))
    }

    @Test("An engine that is suspended is continued to stop")
    func suspended() throws {
        let run = try BackgroundTool(try bench(), fault: "item.stage:1+:delay-300")
        kill(try run.engine(), SIGSTOP)
        kill(run.supervisor, SIGTERM)
        #expect(run.wait().status == 143)
    }

    @Test("A detached run is left once the batch has begun; one that cannot begin says why, with its code")
    func detached() throws {
        let bench = try bench()
        let start = ["run", bench.input, "--model", bench.model(), "--output", bench.output, "--detach"]
        let tool = try Tool(start)
        #expect(tool.status == 0 && tool.errors.contains("nocturne status --follow"))
        #expect([0, 75].contains(try Tool(["status", bench.output, "--follow"]).status))
        let second = try Tool(start + ["--labels", "nothing-such"])
        #expect(second.status == 2 && second.errors.contains("nothing-such"), "\(second.errors)")
        let (missing, elsewhere) = (bench.folder("nowhere").path, bench.folder("elsewhere").path)
        let third = try Tool(["run", missing, "--model", bench.model(), "--output", elsewhere, "--detach"])
        #expect(third.status == 2 && third.errors.contains("there is no file or folder \(missing)"), "\(third.errors)")
        #expect(!FileManager.default.fileExists(atPath: elsewhere))
    }

    @Test("Names cannot control the terminal of who asks about them")
    func controls() throws {
        let bench = try ToolBench()
        try bench.folder.write("no volume", to: "in/red\u{1B}[31m\u{9B}.nii")
        try bench.addVolume("v.nii")
        #expect(try bench.run("--identifiers", "keep").status == 3)
        let tools = [
            try Tool(["status", bench.output]), try Tool(["inspect", bench.input]),
            try Tool(["models", "list", bench.folder("in\u{1B}[31m").path]),
            try Tool(["doctor", "--output", bench.folder("\u{1B}[31m").path]),
            try Tool(["plan", bench.input, "--model", bench.model()]),
        ]
        for tool in tools { #expect(!(tool.output + tool.errors).contains { "\u{1B}\u{9B}".contains($0) }) }
    }
}
