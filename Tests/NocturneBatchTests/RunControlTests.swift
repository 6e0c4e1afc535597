import NocturneBatch
import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("RunControl")
struct RunControlTests {
    @Test("Whoever waits for the cancellation hears it, also when it came before")
    func cancelled() async {
        let control = RunControl()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await control.cancelled() }
            #expect(await until { control.changes.waiterCount == 1 })
            control.drain()
            #expect(await until { control.changes.waiterCount == 1 })
            #expect(control.mode == .draining && !control.flag.isCancelled)
            control.cancel()
            await group.waitForAll()
        }
        await control.cancelled()
        #expect(control.mode == .cancelled && control.flag.isCancelled)
        control.drain()
        #expect(control.mode == .cancelled)
    }
}
