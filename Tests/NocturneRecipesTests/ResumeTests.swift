import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturnePhotos
import NocturneRecipes
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Synchronization
import Testing

@Suite("Stopping and going on")
struct ResumeTests {
    @Test("A file at which two engines died before there were items fails alone, and another run looks at it again")
    func poison() async throws {
        let bench = try BatchBench()
        try bench.addBox("good.nii")
        try bench.output.create()
        func dyingLook() {
            DiscoveryTrace(folder: bench.output.hidden + "/reading").willRead([bench.input + "/poison.nii"])
        }
        dyingLook()
        let first = try await bench.run(previousDeath: "signal 4", supervisor: "s")
        #expect(first.counts.completed == 1 && first.counts.failed == 0)
        try bench.addBox("poison.nii", at: 5)
        dyingLook()
        let second = try await bench.run(previousDeath: "signal 4", supervisor: "s")
        #expect(second.counts.completed == 1 && second.counts.failed == 1)
        #expect(try await bench.reason("poison") == "the engine crashed twice while reading it: signal 4")
        #expect(try await bench.run(retryFailed: true).counts.completed == 2)
    }

    private func bench(items: Int) throws -> BatchBench {
        let bench = try BatchBench(model: "Models/classes-4")
        for index in 0..<items { try bench.addBox("v\(index).nii", shape: VolumeShape(x: 40, y: 40, z: 80 + index)) }
        return bench
    }

    @Test("Cancelled as any item starts, a resumed batch ends as an undisturbed one", arguments: [1, 2, 4])
    func cancel(atStart number: Int) async throws {
        let bench = try bench(items: 5)
        let whole = OutputFolder(bench.folder("whole").path)
        _ = try await bench.run(output: whole)
        let first = try await bench.run(observe: cancelling(atStart: number))
        #expect(first.counts.completed < 5)
        #expect(first.counts.notReached == 5 - first.counts.completed)
        let started = Mutex(0)
        let second = try await bench.run { event, _ in
            if event.event == .itemStarted { started.withLock { $0 += 1 } }
        }
        #expect(second.counts.completed == 5)
        // What was committed is not done again.
        #expect(started.withLock { $0 } == 5 - first.counts.completed)
        #expect(try bench.tree() == bench.tree(whole))
    }

    @Test("A finished batch that is run again does nothing")
    func again() async throws {
        let bench = try bench(items: 2)
        try await bench.run()
        let before = try bench.tree()
        let started = Mutex(0)
        let outcome = try await bench.run { event, _ in
            if event.event == .itemStarted { started.withLock { $0 += 1 } }
        }
        #expect(outcome.counts.completed == 2 && started.withLock { $0 } == 0)
        #expect(try bench.tree() == before)
    }

    @Test("A folder renamed into place but not journaled is recognised, not done again")
    func recognition() async throws {
        let bench = try bench(items: 1)
        try await bench.run()
        let before = try bench.tree()
        for suffix in ["", "-wal", "-shm"] { FileSystem.remove(bench.output.journal + suffix) }
        let started = Mutex(0)
        let outcome = try await bench.run { event, _ in
            if event.event == .itemStarted { started.withLock { $0 += 1 } }
        }
        #expect(outcome.counts.completed == 1 && started.withLock { $0 } == 0)
        #expect(try bench.tree() == before)
    }

    @Test("A result that was damaged is not recognised, and a missing one is done again")
    func damage() async throws {
        let bench = try bench(items: 2)
        try await bench.run()
        let before = try bench.tree()
        FileSystem.remove(bench.output.item("v0") + "/segmentation.nii.gz")
        #expect(try await BatchVerification(bench.output, inspection: RecipeResults()).run().faults.count == 1)
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 2)
        #expect(try bench.tree() == before)
        #expect(try await BatchVerification(bench.output, inspection: RecipeResults()).run().faults == [])
    }

    @Test("A changed source is done again, and only that one")
    func changedSource() async throws {
        let bench = try bench(items: 2)
        try await bench.run()
        try bench.addBox("v0.nii", shape: VolumeShape(x: 40, y: 40, z: 81), at: 6)
        let names = Mutex([String]())
        try await bench.run { event, _ in
            if event.event == .itemStarted, let item = event.item { names.withLock { $0.append(item) } }
        }
        #expect(names.withLock { $0 } == ["v0"])
    }

    @Test("One item can be cancelled by name; it stays so until it is tried again")
    func oneItem() async throws {
        let bench = try bench(items: 3)
        let control = RunControl()
        control.cancel(item: "v1")
        let outcome = try await bench.run(control: control)
        #expect(outcome.counts.completed == 2 && outcome.counts.cancelled == 1)
        #expect(try await bench.run().counts.cancelled == 1)
        #expect(try await bench.run(retryFailed: true).counts.completed == 3)
    }

    @Test("After a death the active item gets one more attempt, then it is quarantined")
    func quarantine() async throws {
        let bench = try bench(items: 2)
        // As the journal looks when the engine died while v0 was active.
        func markStarted() async throws {
            try await Journal.with(path: bench.output.journal) { journal in
                try await journal.markStarted(try await journal.items().filter { $0.name == "v0" }.map(\.id))
            }
        }
        let stopAtOnce: @Sendable (BatchEvent, RunControl) -> Void = { event, control in
            if event.event == .itemStarted { control.cancel() }
        }
        _ = try await bench.run(observe: stopAtOnce)
        try await markStarted()
        _ = try await bench.run(previousDeath: "signal 11", observe: stopAtOnce)
        #expect(try await bench.state("v0") == .pending)
        try await markStarted()
        let outcome = try await bench.run(previousDeath: "signal 11")
        #expect(outcome.counts.quarantined == 1 && outcome.counts.completed == 1)
        #expect(try await bench.reason("v0")?.contains("signal 11") == true)
        #expect(try await bench.run(retryFailed: true).counts.completed == 2)
    }

    @Test("The death of an engine is not laid to items that an earlier run left active")
    func othersDeath() async throws {
        let bench = try bench(items: 2)
        let stopAtOnce: @Sendable (BatchEvent, RunControl) -> Void = { event, control in
            if event.event == .itemStarted { control.cancel() }
        }
        func journaled() async throws -> [JournalItem] {
            Array(try await Journal.with(path: bench.output.journal) { try await $0.items() })
        }
        _ = try await bench.run(supervisor: "first", observe: stopAtOnce)
        // Twice both processes are killed while v0 is active, and the next run's first engine dies before it begins.
        for supervisor in ["second", "third"] {
            try await Journal.with(path: bench.output.journal) { journal in
                try await journal.markStarted(try await journal.items().filter { $0.name == "v0" }.map(\.id))
            }
            _ = try await bench.run(previousDeath: "signal 11", supervisor: supervisor, observe: stopAtOnce)
            #expect(try await journaled().map(\.crashes) == [0, 0])
        }
        #expect(try await bench.run(supervisor: "fourth").counts.completed == 2)
    }

    @Test("Draining finishes the active items and admits nothing new")
    func drain() async throws {
        let bench = try bench(items: 12)
        let outcome = try await bench.run { event, control in
            if event.event == .itemCompleted { control.drain() }
        }
        #expect(outcome.mode == .draining)
        #expect(outcome.counts.completed >= 1 && outcome.counts.notReached >= 1)
        #expect(outcome.counts.completed + outcome.counts.notReached == 12)
    }

    @Test("Two runs on one folder: the second is refused with the first one's process id")
    func locked() async throws {
        let bench = try bench(items: 1)
        try bench.output.create()
        let lock = try BatchLock(bench.output)
        defer { withExtendedLifetime(lock) {} }
        await #expect { try await bench.run() } throws: {
            ($0 as? BatchError)?.code == .outputInUse
                && "\($0)".contains("\(ProcessInfo.processInfo.processIdentifier)")
        }
    }

    @Test("An account that was not written before a kill is written by the next run")
    func oldAccount() async throws {
        let bench = try bench(items: 2)
        try await bench.run()
        let before = try bench.tree()
        try FileSystem.write(bench.output.report, Array("an older account".utf8))
        try await Journal.with(path: bench.output.journal) { journal in
            let item = try await journal.items()[0]
            // As if the run had been killed between the rename and the journal.
            let found = DiscoveredItem(
                key: item.key,
                name: item.name,
                model: "",
                path: item.path,
                fingerprint: try #require(ContentDigest(hex: item.fingerprint))
            )
            try await journal.record([JournalEntry(found, name: item.name, state: .pending)])
        }
        try await bench.run()
        #expect(try bench.tree() == before)
    }

    @Test("A source that is not found goes on waiting, and is done when it is back")
    func vanished() async throws {
        let bench = try bench(items: 3)
        try await bench.run { event, control in
            if event.event == .itemStarted { control.cancel() }
        }
        let moved = bench.folder("elsewhere.nii")
        try FileManager.default.moveItem(at: bench.folder("in/v2.nii"), to: moved)
        let without = try await bench.run()
        #expect(without.counts.completed == 2 && without.counts.notReached == 1)
        try FileManager.default.moveItem(at: moved, to: bench.folder("in/v2.nii"))
        #expect(try await bench.run().counts.completed == 3)
    }
}
