import Foundation
import NocturneBatch
import NocturneOutput
import NocturneSupervisor
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("Commands that are run when items and the batch end")
struct HookRunnerTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder("hooks") }

    private final class Notes: Sendable {
        private let texts = Mutex<[String]>([])
        var all: [String] { texts.withLock { $0 } }
        @Sendable func add(_ text: String) { texts.withLock { $0.append(text) } }
    }

    private func event(_ kind: String, _ item: String, _ reason: String? = nil) throws -> BatchEvent {
        let reason = reason.map { ",\"reason\":\"\($0)\"" } ?? ""
        let text = "{\"event\":\"\(kind)\",\"item\":\"\(item)\",\"time\":\"\"\(reason)}"
        return try JSONDecoder().decode(BatchEvent.self, from: Data(text.utf8))
    }

    private func lines(_ name: String) throws -> [String] {
        String(decoding: try FileSystem.read(folder(name).path), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test("get state, reason and folder in their environment, in the order of the items, and the counts last")
    func environment() async throws {
        let log = folder("log").path
        let text = "$NOCTURNE_ITEM|$NOCTURNE_STATE|$NOCTURNE_REASON|$NOCTURNE_FOLDER|$NOCTURNE_OUTPUT"
        let notes = Notes()
        let runner = try HookRunner(
            OutputFolder("/out"),
            onItem: "echo \"\(text)\" >> \(log)",
            onEnd: "echo \"$NOCTURNE_EXIT_CODE $NOCTURNE_INPUTS $NOCTURNE_COMPLETED $NOCTURNE_FAILED\" >> \(log)",
            note: notes.add
        )
        runner.handle(try event("itemStarted", "a"))
        runner.handle(try event("itemCompleted", "a"))
        runner.handle(try event("itemFailed", "b", "$(touch x); 'quoted'"))
        runner.handle(try event("itemRetried", "c"))
        runner.handle(try event("itemQuarantined", "d"))
        var counts = BatchCounts()
        counts.inputs = 3
        counts.completed = 1
        counts.failed = 1
        await runner.batchEnded(counts, code: 3)
        #expect(
            try lines("log") == [
                "a|completed||/out/a|/out", "b|failed|$(touch x); 'quoted'||/out", "d|quarantined|||/out", "3 3 1 1",
            ]
        )
        #expect(notes.all.isEmpty)
    }

    @Test("that fail or take too long are reported, and the next ones are run")
    func failing() async throws {
        let notes = Notes()
        let log = folder("log").path
        let command =
            "case $NOCTURNE_ITEM in a) exit 7;; b) trap '' TERM; sleep 100; sleep 100;; c) kill -9 $$;; d) echo d > \(log);; esac"
        let runner = try HookRunner(
            OutputFolder("/out"),
            onItem: command,
            limit: .seconds(1),
            grace: .milliseconds(50),
            note: notes.add
        )
        for item in ["a", "b", "c", "d"] { runner.handle(try event("itemCompleted", item)) }
        await runner.batchEnded(BatchCounts(), code: 0)
        #expect(
            notes.all == [
                "--on-item for a: the command exited with 7", "--on-item for b: the command was ended after 1 s",
                "--on-item for c: the command was ended by signal 9",
            ]
        )
        #expect(try lines("log") == ["d"])
    }

    @Test("do not hold up the run with processes that they leave behind")
    func leftBehind() async throws {
        let notes = Notes()
        let command = "sleep 86400 & echo $! > \(folder("process").path)"
        let runner = try HookRunner(OutputFolder("/out"), onEnd: command, limit: .seconds(20), note: notes.add)
        await runner.batchEnded(BatchCounts(), code: 0)
        #expect(notes.all.isEmpty)
        // Still there: nobody had to wait for it.
        let process = try #require(try lines("process").first.flatMap { Int32($0) })
        #expect(kill(process, SIGKILL) == 0)
    }
}
