import NocturneBatch
import Testing

@Suite("Commit: what is done next")
struct CommitStateMachineTests {
    typealias Machine = CommitStateMachine<Int>

    /// Performs actions until there is nothing to do.
    /// - Returns: the actions, and the items that ended, with whether they were completed.
    private func perform(
        _ machine: inout Machine,
        failing: (Machine.Action) -> Bool = { _ in false }
    ) -> (actions: [Machine.Action], ends: [Int: Bool]) {
        var actions: [Machine.Action] = []
        var ends: [Int: Bool] = [:]
        while true {
            let action = machine.next()
            if action == .wait { return (actions, ends) }
            actions.append(action)
            let failed = failing(action)
            for id in failed ? machine.failed() : machine.succeeded() {
                #expect(ends[id] == nil, "\(id) ended twice")
                ends[id] = !failed
            }
        }
    }

    @Test("Items that wait are committed together, each placed, all recorded once")
    func group() {
        var machine = Machine()
        for id in [1, 2, 3] { machine.add(id) }
        let (actions, ends) = perform(&machine)
        #expect(
            actions == [
                .flush([1, 2, 3]), .place(1), .place(2), .place(3), .flushParent, .record([1, 2, 3]),
                .cleanUp([1, 2, 3]),
            ]
        )
        #expect(ends == [1: true, 2: true, 3: true] && machine.isIdle)
    }

    @Test("Items that come meanwhile wait for the next commit")
    func latecomers() {
        var machine = Machine()
        machine.add(1)
        #expect(machine.next() == .flush([1]))
        machine.add(2)
        machine.add(3)
        #expect(machine.succeeded().isEmpty && machine.next() == .place(1))
        let (actions, ends) = perform(&machine)
        #expect(actions.dropFirst(3).first == .cleanUp([1]))
        #expect(actions.contains(.record([2, 3])) && ends.count == 3)
    }

    @Test("An item that cannot be placed fails alone; the others are placed once")
    func badItem() {
        var machine = Machine()
        for id in [1, 2, 3] { machine.add(id) }
        let (actions, ends) = perform(&machine) { $0 == .place(2) }
        #expect(ends == [1: true, 2: false, 3: true])
        for id in [1, 3] { #expect(actions.filter { $0 == .place(id) }.count == 1) }
        #expect(actions.filter { $0 == .place(2) }.count == 2)
        #expect(actions.contains(.record([1])) && actions.contains(.record([3])) && machine.isIdle)
    }

    @Test("After a failure of the journal every item is tried alone, and stays in its place")
    func journalFails() {
        var machine = Machine()
        for id in [1, 2] { machine.add(id) }
        let (actions, ends) = perform(&machine) { $0 == .record([1, 2]) || $0 == .record([2]) }
        #expect(ends == [1: true, 2: false])
        #expect(actions.filter { if case .place = $0 { true } else { false } } == [.place(1), .place(2)])
        #expect(actions.filter { $0 == .flushParent }.count == 3)
    }

    @Test("One item that fails ends at once")
    func single() {
        for failing in [Machine.Action.flush([7]), .place(7), .flushParent, .record([7])] {
            var machine = Machine()
            machine.add(7)
            let (actions, ends) = perform(&machine) { $0 == failing }
            #expect(ends == [7: false] && actions.last == failing && machine.isIdle)
        }
    }

    @Test("An item that failed can be committed again")
    func again() {
        var machine = Machine()
        machine.add(1)
        _ = perform(&machine) { $0 == .record([1]) }
        machine.add(1)
        let (actions, ends) = perform(&machine)
        #expect(actions.prefix(2) == [.flush([1]), .place(1)] && ends == [1: true])
    }
}
