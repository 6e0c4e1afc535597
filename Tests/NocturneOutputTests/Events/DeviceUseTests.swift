import NocturneConcurrency
import NocturneOutput
import NocturneSystem
import Testing

@Suite("How busy a device was")
struct DeviceUseTests {
    private func use(running: Duration, inference: Duration, in time: Duration) -> DeviceUse? {
        let meter = DeviceMeter()
        meter.add(running: .seconds(3))
        meter.add(inference: .seconds(5))
        let earlier = meter.reading
        meter.add(running: running)
        meter.add(inference: inference)
        return DeviceUse(from: earlier, to: meter.reading, in: time)
    }

    @Test("What is neither a run nor the rest of a step is time without an item")
    func shares() throws {
        let found = try #require(use(running: .seconds(6), inference: .seconds(9), in: .seconds(12)))
        #expect([found.busy, found.waitingForProcessor, found.waitingForItems] == [0.5, 0.25, 0.25])
        #expect(found.text == "busy 50 % of the time, 25 % waiting for the processor, 25 % for items")
    }

    @Test("Work that began earlier makes no share larger than 1 or smaller than 0")
    func limits() throws {
        let long = try #require(use(running: .seconds(40), inference: .seconds(50), in: .seconds(30)))
        #expect([long.busy, long.waitingForProcessor, long.waitingForItems] == [1, 0, 0])
        // A run that ended in a step which goes on.
        let open = try #require(use(running: .seconds(15), inference: .zero, in: .seconds(30)))
        #expect([open.busy, open.waitingForProcessor, open.waitingForItems] == [0.5, 0, 0.5])
    }

    @Test("Without a device, and without time, there is no share")
    func none() {
        #expect(use(running: .seconds(1), inference: .zero, in: .zero) == nil)
        let meter = DeviceMeter()
        meter.add(inference: .seconds(9))
        #expect(DeviceUse(from: DeviceMeter().reading, to: meter.reading, in: .seconds(9)) == nil)
    }
}
