import NocturneBatch
import NocturneJournal
import Testing

@Suite("Stalls: which items are stuck")
struct StallStateMachineTests {
    private func machine(_ limit: Int?, item itemLimit: Int? = nil) -> StallStateMachine {
        var machine = StallStateMachine(limit: limit, itemLimit: itemLimit)
        machine.enter(1, name: "a", onlyInput: "in/a", stage: .load)
        return machine
    }

    /// Ticks until something follows from it; the number of the tick.
    private func ticks(_ machine: inout StallStateMachine, most: Int = 100) -> (Int, StallStateMachine.TickAction)? {
        for tick in 1...most {
            let action = machine.tick(isPaused: false)
            if action != StallStateMachine.TickAction() { return (tick, action) }
        }
        return nil
    }

    @Test("Without progress for the limit an item is stuck, and gets another attempt")
    func limit() throws {
        var machine = machine(5)
        let (tick, action) = try #require(ticks(&machine))
        let stuck = try #require(action.stuck.first)
        #expect(tick == 5 && action.stop.isEmpty && action.stuck.count == 1)
        #expect(stuck.id == 1 && !stuck.isLate && stuck.path == "in/a")
        #expect(stuck.reason.text == "a has made no progress for 5 s (stage load)")
    }

    @Test("Progress, and a change of stage, begin the count again; only reading names the file")
    func progress() throws {
        var machine = machine(5)
        for _ in 0..<4 { _ = machine.tick(isPaused: false) }
        machine.moved(1)
        for _ in 0..<4 { #expect(machine.tick(isPaused: false).stuck.isEmpty) }
        machine.enter(1, name: "a", onlyInput: "in/a", stage: .infer)
        let (tick, action) = try #require(ticks(&machine))
        #expect(tick == 5 && action.stuck.first?.path == nil)
    }

    @Test("Time between stages, and time in which all are made to wait, is nobody's")
    func waiting() {
        var machine = machine(5, item: 7)
        for _ in 0..<4 { _ = machine.tick(isPaused: false) }
        for _ in 0..<50 { #expect(machine.tick(isPaused: true) == StallStateMachine.TickAction()) }
        machine.leave(1)
        #expect(ticks(&machine) == nil)
        #expect(machine.forget(1) == nil)
    }

    @Test("Those that have not moved for half of the limit are stuck with the first; the others are not")
    func together() throws {
        var machine = machine(6)
        for _ in 0..<3 { _ = machine.tick(isPaused: false) }
        machine.enter(2, name: "b", onlyInput: nil, stage: .load)
        machine.enter(3, name: "c", onlyInput: nil, stage: .infer)
        _ = machine.tick(isPaused: false)
        machine.moved(3)
        let (_, action) = try #require(ticks(&machine))
        #expect(action.stuck.map(\.id) == [1, 2])
    }

    @Test("An item that has had its time is stopped, with the reason; one that does not stop within its grace is stuck")
    func late() throws {
        var machine = machine(nil, item: 4)
        machine.moved(1)
        let (tick, action) = try #require(ticks(&machine))
        #expect(tick == 4 && action.stop == [1] && action.stuck.isEmpty)
        let (later, end) = try #require(ticks(&machine))
        #expect(later == 4 && end.stop.isEmpty && end.stuck.first?.isLate == true)
        #expect(machine.forget(1)?.text.contains("that an item may take (stage load)") == true)
        #expect(machine.forget(1) == nil)
    }

    @Test("Without limits nothing is ever stuck")
    func noLimits() {
        var machine = machine(nil)
        #expect(ticks(&machine, most: 10_000) == nil)
    }
}
