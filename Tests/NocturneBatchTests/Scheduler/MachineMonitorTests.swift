import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("MachineMonitor")
struct MachineMonitorTests {
    /// A monitor on a clock that stands still, with figures that a test sets.
    private struct Setup: Sendable {
        let time = ManualTime()
        let control = RunControl()
        let probes: BlockingPool
        let reading: Readings
        let view = Reasons()
        let monitor: MachineMonitor

        init(watch: FolderWatcher? = nil) throws {
            probes = try BlockingPool(width: 1)
            let reading = Readings()
            self.reading = reading
            monitor = MachineMonitor(
                control: control,
                progress: ProgressReporter(path: nil, view: view, time: time),
                time: time,
                probes: probes,
                watch: watch,
                readMemory: { reading.value.withLock { $0 } }
            )
        }
    }

    private final class Readings: Sendable {
        let value = Mutex(MemoryReading(systemTotalBytes: 100, systemAvailableBytes: 90))
    }

    private final class Reasons: ProgressView {
        let all = Mutex<[String]>([])
        let devices = Mutex<[DeviceUse?]>([])
        func show(_ event: BatchEvent, _ status: ProgressStatus) {
            devices.withLock { $0.append(event.device) }
            all.withLock { $0.append(event.reason ?? event.event.rawValue) }
        }
        func refresh(_ status: ProgressStatus) {}
        func close() {}
    }

    /// Runs `body` beside the monitor.
    private func with(_ setup: Setup, _ body: @escaping @Sendable (Setup) async throws -> Void) async throws {
        defer { setup.probes.shutdown() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await setup.monitor.run() }
            defer { group.cancelAll() }
            try await body(setup)
        }
    }

    /// One second more, once the monitor sleeps.
    private func tick(_ setup: Setup) async {
        #expect(await until { setup.time.sleeperCount > 0 })
        setup.time.advance(by: .seconds(1))
        #expect(await until { setup.time.sleeperCount > 0 })
    }

    @Test("Scarce memory closes budget and gate and is reported; calm opens them again")
    func pressure() async throws {
        try await with(Setup()) { setup in
            let budget = MemoryBudget(totalBytes: 50)
            let gate = PressureGate()
            await setup.monitor.follow(
                MachineMonitor.PressureFollowers(budget: budget, gate: gate, processBudget: 50)
            )
            await tick(setup)
            #expect(budget.isAdmitting && gate.level == .normal)
            setup.reading.value.withLock { $0.systemAvailableBytes = 4 }
            await tick(setup)
            #expect(!budget.isAdmitting && gate.level == .critical)
            setup.reading.value.withLock { $0.systemAvailableBytes = 90 }
            for _ in 0..<6 { await tick(setup) }
            #expect(budget.isAdmitting && gate.level == .normal)
            let reasons = setup.view.all.withLock { $0 }
            let critical = "4 B of 100 B available; of the active items only the oldest continues"
            #expect(reasons.first == "normal to critical: " + critical)
            #expect(reasons.last == "warning to normal: enough free in 3 readings in a row; starting new items again")
        }
    }

    @Test("A sign of life comes every half minute")
    func heartbeat() async throws {
        try await with(Setup()) { setup in
            await setup.monitor.follow(
                MachineMonitor.PressureFollowers(
                    budget: MemoryBudget(totalBytes: 50),
                    gate: PressureGate(),
                    processBudget: 50
                )
            )
            for _ in 0..<61 { await tick(setup) }
            #expect(setup.view.all.withLock { $0 } == ["heartbeat", "heartbeat"])
        }
    }

    @Test("A sign of life has how busy the device was since the one before, and has nothing where none was used")
    func device() async throws {
        try await with(Setup()) { setup in
            let device = DeviceMeter()
            await setup.monitor.follow(
                MachineMonitor.PressureFollowers(
                    budget: MemoryBudget(totalBytes: 50),
                    gate: PressureGate(),
                    processBudget: 50,
                    device: device
                )
            )
            for _ in 0..<30 { await tick(setup) }
            device.add(running: .seconds(15))
            device.add(inference: .seconds(24))
            for _ in 0..<60 { await tick(setup) }
            let found = setup.view.devices.withLock { devices in
                devices.map { device in device.map { [$0.busy, $0.waitingForProcessor, $0.waitingForItems] } }
            }
            #expect(found == [nil, [0.5, 0.3, 0.2], [0, 0, 1]])
        }
    }

    @Test("Nothing is sampled while nothing depends on it, and waiters are woken by the next sample")
    func demand() async throws {
        try await with(Setup()) { setup in
            for _ in 0..<1000 { await Task.yield() }
            #expect(setup.time.sleeperCount == 0)
            let generation = setup.control.changes.generation
            async let wait: Void = setup.monitor.whileSampling {
                try await setup.control.changes.wait(after: generation)
            }
            #expect(await until { setup.time.sleeperCount == 1 })
            setup.time.advance(by: .seconds(1))
            try await wait
            #expect(setup.control.changes.generation > generation)
        }
    }

    @Test("The stop file ends a run that is processing, and is remembered by one that is not")
    func stopFile() async throws {
        let folder = try TemporaryFolder("stop")
        let path = folder("stop").path
        for isProcessing in [true, false] {
            FileSystem.remove(path)
            try await with(Setup(watch: FolderWatcher(quietSeconds: 0, stopFile: path))) { setup in
                if isProcessing {
                    await setup.monitor.follow(
                        MachineMonitor.PressureFollowers(
                            budget: MemoryBudget(totalBytes: 50),
                            gate: PressureGate(),
                            processBudget: 50
                        )
                    )
                }
                await tick(setup)
                #expect(await !setup.monitor.isStopRequested)
                try FileSystem.write(path, [])
                let generation = setup.control.changes.generation
                await tick(setup)
                try await setup.control.changes.wait(after: generation)
                #expect(await setup.monitor.isStopRequested)
                if isProcessing { #expect(await until { setup.control.mode == .draining }) }
                #expect(isProcessing || setup.control.mode == .running)
            }
        }
    }
}
