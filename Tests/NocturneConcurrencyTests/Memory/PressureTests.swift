import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Testing

private let calm = MemoryReading(
    systemTotalBytes: 1000,
    systemAvailableBytes: 800,
    stallPercent: 0,
    residentBytes: 100
)

private func reading(available: Int = 800, stall: Double = 0, resident: Int = 100) -> MemoryReading {
    MemoryReading(
        systemTotalBytes: 1000,
        systemAvailableBytes: available,
        stallPercent: stall,
        residentBytes: resident
    )
}

@Suite("PressureStateMachine")
struct PressureStateMachineTests {
    @Test(
        "each figure alone reaches its level at its mark, and not before",
        arguments: [
            (reading(available: 150), PressureLevel.normal), (reading(available: 149), .warning),
            (reading(available: 50), .warning), (reading(available: 49), .critical),
            (reading(available: 499, stall: 10), .normal), (reading(available: 499, stall: 10.1), .warning),
            (reading(available: 499, stall: 40), .warning), (reading(available: 499, stall: 40.1), .critical),
            (reading(available: 500, stall: 90), .normal), (MemoryReading(stallPercent: 90), .critical),
            (reading(resident: 190), .normal), (reading(resident: 191), .warning),
            (reading(resident: 220), .warning), (reading(resident: 221), .critical), (MemoryReading(), .normal),
        ]
    )
    func marks(reading: MemoryReading, level: PressureLevel) {
        var machine = PressureStateMachine(budgetBytes: 200)
        let change = machine.observe(reading)
        #expect(machine.level == level)
        #expect(change?.to == (level == .normal ? nil : level))
        #expect(machine.observe(reading) == nil)
    }

    @Test("the level falls one step at a time, after three calm readings in a row")
    func hysteresis() {
        var machine = PressureStateMachine(budgetBytes: 200)
        #expect(machine.observe(reading(available: 10))?.to == .critical)
        #expect(machine.observe(calm) == nil)
        #expect(machine.observe(calm) == nil)
        // One bad reading starts the count again.
        #expect(machine.observe(reading(available: 10)) == nil)
        #expect(machine.observe(calm) == nil)
        #expect(machine.observe(calm) == nil)
        #expect(machine.observe(calm)?.to == .warning)
        #expect(machine.observe(calm) == nil)
        #expect(machine.observe(calm) == nil)
        let last = machine.observe(calm)
        #expect(last?.from == .warning && last?.to == .normal)
        for _ in 0..<10 { #expect(machine.observe(calm) == nil) }
    }

    @Test("readings at warning are calm for critical, and not for warning")
    func fallsToWarning() {
        var machine = PressureStateMachine(budgetBytes: 200)
        _ = machine.observe(reading(available: 400, stall: 90))
        for _ in 0..<2 { #expect(machine.observe(reading(available: 400, stall: 20)) == nil) }
        #expect(machine.observe(reading(available: 400, stall: 20))?.to == .warning)
        for _ in 0..<10 { #expect(machine.observe(reading(available: 400, stall: 20)) == nil) }
        #expect(machine.level == .warning)
    }

    @Test("a change says why")
    func reasons() {
        var machine = PressureStateMachine(budgetBytes: 200)
        #expect(
            machine.observe(reading(available: 100, resident: 195))?.reason
                == "100 B of 1000 B available, 195 B resident, the budget is 200 B"
        )
    }

    @Test("no sequence of readings skips a level downwards or lingers on the way up")
    func everySequence() {
        let kinds = [calm, reading(available: 100), reading(available: 10)]
        for code in 0..<6561 {
            var machine = PressureStateMachine(budgetBytes: 200)
            var rest = code
            for _ in 0..<8 {
                let kind = rest % 3
                rest /= 3
                let before = machine.level
                let change = machine.observe(kinds[kind])
                #expect(machine.level.rawValue >= kind)
                #expect(machine.level.rawValue >= before.rawValue - 1)
                #expect((change != nil) == (machine.level != before))
            }
        }
    }
}

@Suite("PressureGate")
struct PressureGateTests {
    @Test("at critical the oldest goes on, then the next oldest, and all when it is over")
    func handsOn() async throws {
        let gate = PressureGate()
        let tickets = [3, 1, 2, 4].map { gate.register(sequence: $0) }
        for ticket in tickets { try await gate.pass(ticket, flag: CancellationFlag()) }
        gate.setLevel(.critical)
        try await gate.pass(tickets[1], flag: CancellationFlag())
        let passed = Shared<[Int]>([])
        let tasks = [0, 2, 3].map { index in
            Task {
                try await gate.pass(tickets[index], flag: CancellationFlag())
                passed.withLock { $0.append(tickets[index].sequence) }
            }
        }
        #expect(await until { gate.waiting == 3 })
        tickets[1].unregister()
        try await tasks[1].value
        // The others look again, and wait again.
        #expect(await until { gate.waiting == 2 })
        #expect(passed.withLock { $0 } == [2])
        gate.setLevel(.warning)
        for task in tasks { try await task.value }
        #expect(passed.withLock { $0.sorted() } == [2, 3, 4])
    }

    @Test("In a pause nobody passes, with or without a ticket, and its time is not work")
    func pauses() async throws {
        let time = ManualTime()
        let gate = PressureGate(time: time)
        let ticket = gate.register(sequence: 1)
        time.advance(by: .seconds(10))
        for _ in 0..<2 {
            gate.setPaused(true)
            time.advance(by: .seconds(2))
        }
        #expect(gate.isHolding && gate.workTime == .seconds(10))
        let (flag, stopped) = (CancellationFlag(), CancellationFlag())
        let tasks = [
            Task { try await gate.pass(ticket, flag: flag) }, Task { try await gate.pass(flag: flag) },
            Task { try await gate.pass(flag: stopped) },
        ]
        #expect(await until { gate.waiting == 3 })
        stopped.cancel()
        await #expect(throws: CancellationError.self) { try await tasks[2].value }
        gate.setLevel(.critical)
        #expect(await until { gate.waiting == 2 })
        gate.setPaused(false)
        for task in tasks.prefix(2) { try await task.value }
        time.advance(by: .seconds(1))
        #expect(gate.isHolding && gate.workTime == .seconds(11))
        gate.setLevel(.normal)
        #expect(!gate.isHolding)
    }

    @Test("a ticket that is dropped lets the next one through")
    func dropped() async throws {
        let gate = PressureGate()
        gate.setLevel(.critical)
        var first: PressureGate.Ticket? = gate.register(sequence: 1)
        let second = gate.register(sequence: 2)
        let task = Task { try await gate.pass(second, flag: CancellationFlag()) }
        #expect(await until { gate.waiting == 1 })
        #expect(first?.sequence == 1)
        first = nil
        try await task.value
        try await gate.pass(second, flag: CancellationFlag())
    }

    @Test("a cancelled pass throws and leaves nobody behind")
    func cancellation() async throws {
        let gate = PressureGate()
        gate.setLevel(.critical)
        let first = gate.register(sequence: 1)
        let second = gate.register(sequence: 2)
        let task = Task { try await gate.pass(second, flag: CancellationFlag()) }
        #expect(await until { gate.waiting == 1 })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(gate.waiting == 0)
        first.unregister()
        try await gate.pass(second, flag: CancellationFlag())
    }

    @Test("an item that is cancelled while it waits ends at once; the others wait on")
    func cancelledItem() async throws {
        let gate = PressureGate()
        gate.setLevel(.critical)
        let tickets = (1...3).map { gate.register(sequence: $0) }
        let flags = tickets.map { _ in CancellationFlag() }
        let tasks = [1, 2].map { index in Task { try await gate.pass(tickets[index], flag: flags[index]) } }
        #expect(await until { gate.waiting == 2 })
        flags[1].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        #expect(await until { gate.waiting == 1 })
        await #expect(throws: CancellationError.self) { try await gate.pass(tickets[1], flag: flags[1]) }
        gate.setLevel(.normal)
        try await tasks[1].value
    }

    @Test("under a hail of levels, pauses and cancellations every pass goes on or throws")
    func storm() async throws {
        let gate = PressureGate()
        for seed in 0..<40 as Range<UInt64> {
            let flags = (0..<20).map { _ in CancellationFlag() }
            let tasks = flags.enumerated().map { index, flag in
                Task {
                    let ticket = gate.register(sequence: index)
                    defer { ticket.unregister() }
                    for _ in 0..<10 { try await gate.pass(ticket, flag: flag) }
                }
            }
            var generator = SplitMix64(seed: seed)
            for index in tasks.indices {
                gate.setLevel(PressureLevel.allCases[generator.int(in: 0...2)])
                gate.setPaused(generator.int(in: 0...1) == 0)
                if generator.int(in: 0...4) == 0 { tasks[index].cancel() }
                if generator.int(in: 0...4) == 0 { flags[index].cancel() }
                await Task.yield()
            }
            // At critical, too, one after the other comes through.
            gate.setPaused(false)
            for task in tasks { _ = await task.result }
            #expect(gate.waiting == 0)
        }
    }
}
