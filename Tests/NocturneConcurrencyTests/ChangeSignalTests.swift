import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("ChangeSignal")
struct ChangeSignalTests {
    @Test("A change between looking and waiting is not missed")
    func earlyChange() async throws {
        let signal = ChangeSignal()
        let generation = signal.generation
        signal.notify()
        try await signal.wait(after: generation)
        #expect(signal.generation == generation + 1)
    }

    @Test("A change wakes everybody who waits")
    func wakesAll() async throws {
        let signal = ChangeSignal()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 { group.addTask { try await signal.wait(after: 0) } }
            #expect(await until { signal.waiterCount == 5 })
            signal.notify()
            try await group.waitForAll()
        }
    }

    @Test("Cancelling a task ends its wait with an error, and leaves nobody behind")
    func cancelling() async {
        let signal = ChangeSignal()
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do { try await signal.wait(after: 0) } catch { return true }
                return false
            }
            #expect(await until { signal.waiterCount == 1 })
            group.cancelAll()
            #expect(await group.next() == true)
        }
        #expect(signal.waiterCount == 0)
    }

    @Test("A wait with a limit ends with the change or with the time, whichever comes first")
    func limit() async throws {
        let signal = ChangeSignal()
        let time = ManualTime()
        for change in [true, false] {
            let generation = signal.generation
            async let wait: Void = signal.wait(after: generation, atMost: .seconds(5), time)
            #expect(await until { signal.waiterCount == 1 && time.sleeperCount == 1 })
            if change { signal.notify() } else { time.advance(by: .seconds(5)) }
            try await wait
            #expect(signal.waiterCount == 0 && time.sleeperCount == 0)
        }
    }
}
