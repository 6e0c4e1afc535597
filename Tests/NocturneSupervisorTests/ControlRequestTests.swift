import Foundation
import NocturneBatch
import NocturneOutput
import NocturneSupervisor
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("Requests to a run through its output folder")
struct ControlRequestTests {
    private let folder: TemporaryFolder
    private let output: OutputFolder

    init() throws {
        folder = try TemporaryFolder("requests")
        output = OutputFolder(folder("out").path)
        try output.create()
    }

    /// A process that is certainly not the one with this test's number.
    private func stranger(_ process: Int32 = getpid()) -> ProcessIdentity {
        let own = ProcessIdentity.current()
        return ProcessIdentity(
            process: process,
            startTicks: own.startTicks,
            bootID: own.bootID,
            pidNamespace: "pid:[1]",
            host: "elsewhere"
        )
    }

    private func write(_ holder: BatchLock.Holder) throws {
        try FileSystem.write(output.lock, try StableJSON.encodeLine(holder))
    }

    @Test("reach the run that they name, once, and only it")
    func addressed() throws {
        let lock = try BatchLock(output, run: "run 1")
        try write(BatchLock.Holder(process: stranger(), run: "run 1"))
        #expect(try !ControlRequest.send(.stop, to: output))
        #expect(try !ControlRequest.send(.cancelItems(["a", "b"]), to: output))
        let heard = Mutex<Set<ControlRequest.Action>>([])
        let listener = ControlRequestListener(output, run: "run 1") { action in
            heard.withLock { #expect($0.insert(action).inserted) }
        }
        // While another run has the folder, its requests stay.
        ControlRequestListener(output, run: "run 2") { _ in Issue.record("another run's request") }.look()
        #expect(FileSystem.entries(output.requests).count == 2)
        listener.look()
        #expect(heard.withLock { $0 } == [.stop, .cancelItems(["a", "b"])])
        listener.look()
        let pause = RunPause(since: 1, until: 2, releasesMemory: true)
        let others: Set<ControlRequest.Action> = [
            .pause(pause), .endPause, .approve, .putFirst(FirstRequest(["b", "a"], now: true)),
        ]
        for action in others { #expect(try !ControlRequest.send(action, to: output)) }
        heard.withLock { $0 = [] }
        listener.look()
        #expect(heard.withLock { $0 } == others)
        #expect(FileSystem.entries(output.requests).isEmpty)
        withExtendedLifetime(lock) {}
    }

    @Test(
        "of root to the run of another user are refused, since that run could not read them",
        .enabled(if: geteuid() == 0, "only root can give files away")
    )
    func root() throws {
        let lock = try BatchLock(output, run: "run")
        #expect(chown(output.hidden, 12_345, 12_345) == 0)
        #expect { try ControlRequest.send(.stop, to: output) } throws: { "\($0)".contains("sudo -u '#12345' nocturne") }
        #expect(FileSystem.kind(output.requests) == .nothing)
        // The folder is there once the owner has sent a request.
        try FileSystem.makeFolder(output.requests)
        #expect(chown(output.requests, 12_345, 12_345) == 0)
        #expect { try ControlRequest.send(.stop, to: output) } throws: { "\($0)".contains("belongs to user 12345") }
        #expect(FileSystem.entries(output.requests).isEmpty)
        withExtendedLifetime(lock) {}
    }

    @Test("from an earlier run, and whatever else lies there, have no effect")
    func stale() throws {
        let lock = try BatchLock(output, run: "run 2")
        try FileSystem.makeFolder(output.requests)
        let old = ControlRequest(run: "run 1", action: .stop)
        try FileSystem.write(output.requests + "/old.json", try StableJSON.encodeLine(old))
        try FileSystem.write(output.requests + "/garbage.json", Array("{".utf8))
        #expect(mkfifo(output.requests + "/pipe.json", 0o600) == 0)
        ControlRequestListener(output, run: "run 2") { _ in Issue.record("no request") }.look()
        #expect(FileSystem.entries(output.requests).isEmpty)
        withExtendedLifetime(lock) {}
    }

    @Test("signal nobody when the lock file names no process", arguments: ["-1\n", "0", "1", "", "garbage", "{}"])
    func garbage(text: String) throws {
        let lock = try BatchLock(output, run: "run")
        try FileSystem.write(output.lock, Array(text.utf8))
        #expect(BatchLock.state(of: output) == .held(nil))
        #expect(throws: BatchError.self) { try ControlRequest.send(.stop, to: output) }
        #expect(FileSystem.entries(output.requests).isEmpty)
        withExtendedLifetime(lock) {}
    }

    @Test("signal nobody when the process is -1 or init", arguments: [-1, 0, 1] as [Int32])
    func everybody(process: Int32) throws {
        let lock = try BatchLock(output, run: "run")
        try write(BatchLock.Holder(process: stranger(process), run: "run"))
        #expect(throws: BatchError.self) { try ControlRequest.send(.stop, to: output) }
        #expect(!stranger(process).send(0))
        withExtendedLifetime(lock) {}
    }

    @Test("need an active run")
    func none() {
        #expect { try ControlRequest.send(.stop, to: output) } throws: { ($0 as? BatchError)?.code == .notABatch }
    }

    @Test("are looked for without any signal, by the clock")
    func polled() async throws {
        let lock = try BatchLock(output, run: "run")
        try write(BatchLock.Holder(process: stranger(), run: "run"))
        let time = ManualTime()
        let stopped = CancellationFlag()
        let listener = ControlRequestListener(output, run: "run") { action in
            #expect(action == .stop)
            stopped.cancel()
        }
        async let heard = listener.listen(time: time) { await until { stopped.isCancelled } }
        #expect(await until { time.sleeperCount == 1 })
        let isSignalled = try ControlRequest.send(.stop, to: output)
        #expect(!isSignalled && !stopped.isCancelled)
        time.advance(by: ControlRequestListener.interval)
        let isHeard = try await heard
        #expect(isHeard)
        withExtendedLifetime(lock) {}
    }
}
