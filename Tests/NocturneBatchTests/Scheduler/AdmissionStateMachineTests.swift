import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("AdmissionStateMachine")
struct AdmissionStateMachineTests {
    typealias Machine = AdmissionStateMachine
    typealias Needs = AdmissionStateMachine.Needs

    /// A machine with its conditions, and what the items need.
    private struct Desk {
        var machine: Machine
        var needs: [Needs]
        var conditions = Machine.Conditions(now: .zero)
        var measurement = MachineMeasurement()
        /// Started and not ended.
        var active: [Int64] = []

        init(_ needs: [Needs], suspects: Set<Int64> = [], _ change: (inout Machine.Settings) -> Void = { _ in }) {
            self.needs = needs
            var settings = Machine.Settings(memoryBytes: 100)
            change(&settings)
            let queue = needs.indices.map {
                PendingItem(id: Int64($0), name: "\($0)", model: "m", isAlone: suspects.contains(Int64($0)))
            }
            machine = Machine(queue, settings)
            measurement.freeBytes = 1 << 40
        }

        /// What comes after plans and measurements.
        mutating func next() -> Machine.Action {
            while true {
                conditions.leasedBytes = active.reduce(0) { $0 + needs[Int($1)].memoryBytes }
                let action = machine.next(conditions)
                switch action {
                case .plan(let id): machine.planned(id, needs[Int(id)])
                case .measure(let bytes, let attempt, _):
                    var answer = measurement
                    if attempt, let bytes, measurement.refusal == nil { answer.grantedBytes = bytes }
                    if attempt, let bytes, measurement.refusal != nil { answer.refusedBytes = bytes }
                    machine.measured(answer)
                case .start(let id, _):
                    active.append(id)
                    return action
                default: return action
                }
            }
        }

        /// The wait for the disk that comes next; nil when something else does.
        mutating func nextDiskWait() -> (shortage: DiskShortage, until: Duration?)? {
            if case .wait(.disk(let shortage), let until) = next() { (shortage, until) } else { nil }
        }

        /// Starts what can be started.
        mutating func startAll() -> [Int64] {
            var started: [Int64] = []
            while case .start(let id, _) = next() { started.append(id) }
            return started
        }

        mutating func end(_ id: Int64, _ outcome: ItemEnd.Outcome, seconds: Double = 1) -> [Machine.Action] {
            active.removeAll { $0 == id }
            let end = ItemEnd(id: id, outcome: outcome, seconds: [.infer: seconds])
            defer { machine.recorded(id, conditions.now) }
            return machine.itemEnded(end, cancelled: conditions.cancelled, conditions.now)
        }

        @discardableResult
        mutating func complete(_ id: Int64, seconds: Double = 1, diskBytes: Int = 0) -> [Machine.Action] {
            let files = diskBytes > 0 ? [ItemFile(path: "a", bytes: diskBytes, sha256: "")] : []
            return end(id, .completed(ItemProduct(files: files, statistics: [], notes: [])), seconds: seconds)
        }
    }

    private func reason(_ text: String) -> ItemReason {
        ItemReason(FaultCode("test", "reason"), Sentence(shown: text), stage: "load")
    }

    private func failure(_ recovery: RecoveryAction?) -> ItemEnd.Outcome {
        .failed(reason("reason"), recovery: recovery)
    }

    @Test("Further items are asked for once those that are known were considered, also while one of them waits")
    func fetching() {
        var desk = Desk([80, 50, 10].map { Needs(memoryBytes: $0) })
        let items = desk.machine.waiting
        desk.machine = Machine([items[0], items[1]], hasMore: true, Machine.Settings(memoryBytes: 100))
        #expect(desk.next() == .start(0, after: nil))
        // The second does not fit beside the first; one that follows may.
        #expect(desk.next() == .fetch)
        desk.machine.fetched([items[2]], hasMore: true)
        #expect(desk.next() == .start(2, after: nil))
        #expect(desk.next() == .fetch)
        desk.machine.fetched([], hasMore: false)
        #expect(desk.next() == .wait(.activeItems, until: nil))
        desk.complete(0)
        #expect(desk.next() == .start(1, after: nil))
        for id: Int64 in [1, 2] { desk.complete(id) }
        #expect(desk.next() == .finished)
    }

    @Test("Items are started in order as long as the budget allows, and an item above it fails")
    func order() {
        var desk = Desk([40, 50, 101, 30, 10].map { Needs(memoryBytes: $0) })
        #expect(desk.next() == .start(0, after: nil))
        #expect(desk.next() == .start(1, after: nil))
        #expect(
            desk.next()
                == .settle(
                    2,
                    .failed(
                        ItemReason(.overBudget, "needs \(own: "101 B") of memory, the budget leaves \(own: "100 B")")
                    )
                )
        )
        // 30 do not fit beside 90, 10 do.
        #expect(desk.next() == .start(4, after: nil))
        #expect(desk.next() == .wait(.activeItems, until: nil))
        desk.complete(0)
        #expect(desk.next() == .start(3, after: nil))
        for id: Int64 in [1, 3, 4] { desk.complete(id) }
        #expect(desk.next() == .finished)
    }

    @Test("What released models took holds more items at once, and no larger one")
    func releasedModels() {
        var desk = Desk([60, 60].map { Needs(memoryBytes: $0) })
        #expect(desk.startAll() == [0])
        desk.conditions.releasedBytes = 30
        #expect(desk.startAll() == [1])
        var large = Desk([Needs(memoryBytes: 120)])
        large.conditions.releasedBytes = 30
        let reason = ItemReason(.overBudget, "needs \(own: "120 B") of memory, the budget leaves \(own: "100 B")")
        #expect(large.next() == .settle(0, .failed(reason)))
    }

    @Test("Small items overtake a large one only while it could not be started anyway")
    func fairness() {
        var desk = Desk(([60, 100] + Array(repeating: 20, count: 10)).map { Needs(memoryBytes: $0) })
        #expect(desk.startAll() == [0, 2, 3])
        // The first item is still active: the large one could not be started whatever the others do.
        desk.complete(2)
        #expect(desk.startAll() == [4])
        desk.complete(0)
        // Now it waits for overtakers alone, and nobody overtakes it any more.
        #expect(desk.next() == .wait(.activeItems, until: nil))
        desk.complete(3)
        #expect(desk.next() == .wait(.activeItems, until: nil))
        desk.complete(4)
        #expect(desk.startAll() == [1])
    }

    @Test("An item for which the disk is too small holds up nobody, waits, and is started when there is space")
    func smallDisk() {
        var desk = Desk([
            Needs(memoryBytes: 1, diskBytes: 500 << 20), Needs(memoryBytes: 1, diskBytes: 1 << 20),
            Needs(memoryBytes: 1, diskBytes: 1 << 20),
        ])
        desk.measurement.freeBytes = 100 << 20
        #expect(desk.startAll() == [1, 2])
        #expect(desk.machine.shortage != nil)
        desk.complete(1)
        desk.complete(2)
        let wait = desk.nextDiskWait()
        #expect(wait?.shortage.description == "is full: 100 MiB free, about 501 MiB needed")
        desk.measurement.freeBytes = 600 << 20
        #expect(desk.next() == .start(0, after: nil))
        #expect(desk.machine.shortage == nil)
    }

    @Test("The free space is measured once for many small items, but for each where it is scarce or time has passed")
    func measurements() {
        func measurements(free: Int, pause: Duration) -> Int {
            var desk = Desk((0..<5).map { _ in Needs(memoryBytes: 1, diskBytes: 1 << 20) })
            desk.measurement.freeBytes = free
            var count = 0
            for _ in 0..<5 {
                while true {
                    let action = desk.machine.next(desk.conditions)
                    if case .start = action { break }
                    if case .plan(let id) = action { desk.machine.planned(id, desk.needs[Int(id)]) }
                    if case .measure = action {
                        count += 1
                        desk.machine.measured(desk.measurement)
                    }
                }
                desk.conditions.now += pause
            }
            return count
        }
        #expect(measurements(free: 1 << 40, pause: .milliseconds(10)) == 1)
        #expect(measurements(free: 1 << 40, pause: .milliseconds(60)) == 3)
        #expect(measurements(free: 1 << 40, pause: .milliseconds(200)) == 5)
        #expect(measurements(free: 2 << 30, pause: .zero) == 5)
    }

    @Test("What results really take replaces the prediction after three of them, with as much again to spare")
    func learnedDiskUse() {
        var desk = Desk((0..<4).map { Needs(memoryBytes: 1, diskBytes: $0 == 0 ? 500 << 20 : 1 << 20) })
        desk.measurement.freeBytes = 100 << 20
        #expect(desk.startAll() == [1, 2, 3])
        desk.complete(1, diskBytes: 1 << 14)
        desk.complete(2, diskBytes: 1 << 18)
        #expect(desk.startAll() == [])
        // The third shows less: the largest share counts, a quarter. Twice 125 MiB are not free, either.
        desk.complete(3, diskBytes: 1 << 10)
        #expect(desk.nextDiskWait()?.shortage.description == "is full: 100 MiB free, about 251 MiB needed")
        desk.measurement.freeBytes = 300 << 20
        #expect(desk.next() == .start(0, after: nil))
    }

    @Test("Asked to stop when the disk is full, the run starts what fits, and then ends")
    func stopsWhenFull() {
        let needs = [Needs(memoryBytes: 1, diskBytes: 500 << 20), Needs(memoryBytes: 1)]
        var desk = Desk(needs) { $0.stopsWhenFull = true }
        desk.measurement.freeBytes = 100 << 20
        #expect(desk.startAll() == [1])
        desk.complete(1)
        let shortage = DiskShortage(neededBytes: 501 << 20, freeBytes: 100 << 20, refusal: nil)
        #expect(desk.next() == .drain(.diskFull(shortage)))
        #expect(desk.next() == .finished)
        #expect(desk.machine.waiting.map(\.id) == [0])
    }

    @Test("After a refusal to write nothing is started before a pause, which doubles, and an attempt that succeeds")
    func refusals() {
        var desk = Desk([Needs(memoryBytes: 1), Needs(memoryBytes: 1)])
        #expect(desk.startAll() == [0, 1])
        #expect(desk.end(0, failure(.freeSpace)) == full(0))
        #expect(desk.end(1, failure(.freeSpace)) == full(1))
        // Both say it, and it counts once.
        let first = desk.nextDiskWait()
        #expect(first?.until == .seconds(1))
        desk.conditions.now = .seconds(1)
        desk.measurement.refusal = .quota
        let quota = desk.nextDiskWait()
        #expect(quota?.shortage.refusal == .quota && quota?.until == nil)
        desk.measurement.refusal = nil
        #expect(desk.next() == .start(0, after: nil))
        #expect(desk.end(0, failure(.freeSpace)) == full(0))
        let second = desk.nextDiskWait()
        #expect(second?.until == .seconds(3))
        desk.conditions.now = .seconds(3)
        // Each alone from now on, so that it is known whose files fill the disk.
        #expect(desk.startAll() == [1])
        desk.complete(1)
        #expect(desk.machine.refusals == 0)
        #expect(desk.startAll() == [0])
    }

    private func full(_ id: Int64) -> [Machine.Action] { [.discardStaging(id), .putBack(id, reason("load: reason"))] }

    @Test("An item for which the whole disk is too small fails with the figures, after all that fits")
    func neverFits() {
        for stops in [false, true] {
            let needs = [Needs(memoryBytes: 1, diskBytes: 500 << 20), Needs(memoryBytes: 1, diskBytes: 1 << 20)]
            var desk = Desk(needs) { $0.stopsWhenFull = stops }
            (desk.measurement.freeBytes, desk.measurement.capacityBytes) = (100 << 20, 200 << 20)
            desk.measurement.isCapacityOfWork = stops
            // What the other one takes may show that the first one needs less.
            #expect(desk.startAll() == [1])
            #expect(desk.nextDiskWait() != nil)
            desk.complete(1)
            let place = stops ? "folder for work" : "output folder"
            let failure = ItemReason(
                .diskFull,
                "needs \(own: "501 MiB"), and the disk of the \(own: place) has \(own: "200 MiB") in total"
            )
            #expect(desk.next() == .settle(0, .failed(failure)))
            #expect(desk.next() == .finished)
        }
    }

    @Test("An item that fills the disk three times alone fails with the figures, and others are started before it")
    func fillsDisk() {
        for stops in [false, true] {
            var desk = Desk(Array(repeating: Needs(memoryBytes: 40), count: 4)) { $0.stopsWhenFull = stops }
            desk.measurement.freeBytes = 100 << 20
            #expect(desk.startAll() == [0, 1])
            #expect(desk.end(0, failure(.freeSpace)) == full(0))
            desk.conditions.now += .seconds(60)
            // Another one was active: it may have been that one's files.
            #expect(desk.startAll() == [2])
            for id: Int64 in [1, 2] { desk.complete(id) }
            #expect(desk.startAll() == [3])
            desk.complete(3)
            for _ in 0..<3 {
                #expect(desk.startAll() == [0])
                #expect(desk.end(0, failure(.freeSpace)) == full(0))
                desk.conditions.now += .seconds(60)
            }
            let text: Sentence =
                "the disk became full \(3) times while only this item was active; \(own: "100 MiB") were free when it was started the last "
                + "time"
            #expect(desk.next() == .settle(0, .failed(ItemReason(.diskFull, text))))
            #expect(desk.next() == .finished)
        }
    }

    @Test("Space on the disk is waited for a day; then the run ends and can be resumed")
    func diskPatience() {
        var desk = Desk([Needs(memoryBytes: 1, diskBytes: 500 << 20)])
        desk.measurement.freeBytes = 100 << 20
        #expect(desk.nextDiskWait() != nil)
        desk.conditions.now = .seconds(86_399)
        #expect(desk.nextDiskWait() != nil)
        desk.conditions.now = .seconds(86_400)
        let shortage = DiskShortage(neededBytes: 501 << 20, freeBytes: 100 << 20, refusal: nil)
        #expect(desk.next() == .drain(.diskFull(shortage)))
        #expect(desk.next() == .finished)
        #expect(desk.machine.waiting.map(\.id) == [0])
    }

    @Test("What may pass is tried three times, after two seconds and after eight; then it fails")
    func retries() {
        var desk = Desk([Needs(memoryBytes: 1)])
        #expect(desk.startAll() == [0])
        for delay in [2, 8] {
            let start = desk.conditions.now
            #expect(desk.end(0, failure(.retry)) == [.putBack(0, reason("load: reason"))])
            #expect(desk.next() == .wait(.retryTime, until: start + .seconds(delay)))
            desk.conditions.now = start + .seconds(delay)
            #expect(desk.startAll() == [0])
        }
        #expect(desk.end(0, failure(.retry)) == [.discardStaging(0), .settle(0, .failed(reason("reason")))])
        #expect(desk.next() == .finished)
    }

    @Test("What the end of an item leads to")
    func ends() {
        var desk = Desk(Array(repeating: Needs(memoryBytes: 1), count: 7))
        #expect(desk.startAll().count == 7)
        #expect(desk.complete(0, seconds: 2) == [.complete(0, seconds: 2, ItemProduct())])
        #expect(desk.end(1, failure(nil)) == [.discardStaging(1), .settle(1, .failed(reason("reason")))])
        #expect(desk.end(2, failure(.rediscover)) == [.discardStaging(2), .putBack(2, reason("reason"))])
        #expect(desk.machine.needsDiscovery)
        #expect(desk.end(3, failure(.repairOutput)) == [.giveUp("reason"), .putBack(3, reason("reason"))])
        #expect(desk.end(4, failure(.repairOutput)) == [.putBack(4, reason("reason"))])
        #expect(desk.end(6, failure(.setAside)) == [.discardStaging(6), .settle(6, .setAside(reason("reason")))])
        desk.conditions.cancelled = ["5"]
        #expect(desk.end(5, .interrupted) == [.settle(5, .cancelled)])
        #expect(desk.end(5, .interrupted) == [])
    }

    @Test("In a pause nothing is started, and an item that was stopped for its memory is the next one afterwards")
    func pauses() {
        var desk = Desk([Needs(memoryBytes: 60), Needs(memoryBytes: 50), Needs(memoryBytes: 50)])
        #expect(desk.startAll() == [0])
        desk.conditions.isPaused = true
        #expect(desk.next() == .wait(.paused, until: nil))
        let text = ItemReason(.interrupted, "the run was paused, and its memory released")
        #expect(desk.end(0, .postponed(.paused)) == [.putBack(0, text)])
        #expect(desk.next() == .wait(.paused, until: nil))
        desk.conditions.cancelled = ["1"]
        #expect(desk.next() == .settle(1, .cancelled))
        desk.conditions.cancelled = []
        desk.conditions.isPaused = false
        #expect(desk.startAll() == [0])
    }

    @Test("A time limit ends a paused run, and a pause without anything left ends nothing else")
    func pauseEnds() {
        var desk = Desk([Needs(memoryBytes: 1), Needs(memoryBytes: 1)])
        desk.conditions.isPaused = true
        desk.conditions.untilDeadline = .seconds(30)
        #expect(desk.next() == .wait(.paused, until: desk.conditions.now + .seconds(30)))
        desk.conditions.untilDeadline = .zero
        #expect(desk.next() == .drain(.paused))
        #expect(desk.next() == .finished)
        var ended = Desk([Needs(memoryBytes: 1)])
        #expect(ended.startAll() == [0])
        ended.complete(0)
        ended.conditions.isPaused = true
        #expect(ended.next() == .finished)
    }

    @Test("A pause is not time in which what is active came nearer to its end")
    func pausedTime() {
        // One of 100 s is active and another one waits: after a pause of 90 s, 150 s are too few for both.
        var desk = Desk(Array(repeating: Needs(memoryBytes: 60), count: 3))
        #expect(desk.startAll() == [0])
        desk.complete(0, seconds: 100)
        #expect(desk.startAll() == [1])
        desk.conditions.isPaused = true
        #expect(desk.next() == .wait(.paused, until: nil))
        desk.conditions.now += .seconds(90)
        desk.conditions.isPaused = false
        desk.conditions.untilDeadline = .seconds(150)
        #expect(desk.next() == .wait(.activeItems, until: nil))
        #expect(desk.machine.leftForLater == 1)
    }

    @Test("Items that are put first are started next, in their order, and nobody overtakes them")
    func first() {
        var desk = Desk([60, 60, 30, 30, 90].map { Needs(memoryBytes: $0) })
        #expect(desk.startAll() == [0, 2])
        desk.machine.putFirst([4, 3].map { PendingItem(id: $0, name: "\($0)", model: "m") })
        // 10 are free: nothing fits, and not 3 once 2 has ended, since 4 comes first.
        #expect(desk.startAll() == [])
        desk.complete(2)
        #expect(desk.startAll() == [])
        desk.complete(0)
        #expect(desk.startAll() == [4])
        desk.complete(4)
        #expect(desk.startAll() == [3, 1])
        // One that is active, and one that was not fetched yet.
        desk.needs.append(Needs(memoryBytes: 1))
        desk.machine.putFirst([3, 5].map { PendingItem(id: $0, name: "\($0)", model: "m") })
        #expect(desk.startAll() == [5])
    }

    @Test("An urgent item is started alone, once the others are put back; these go on in their order after it")
    func urgent() {
        var desk = Desk([30, 30, 30, 10].map { Needs(memoryBytes: $0) })
        #expect(desk.startAll() == [0, 1, 2, 3])
        desk.complete(3)
        desk.needs.append(Needs(memoryBytes: 10))
        desk.machine.putFirst([PendingItem(id: 4, name: "4", model: "m")], isUrgent: true)
        for id: Int64 in [0, 1] {
            _ = desk.end(id, .postponed(.steppedAside))
            #expect(desk.startAll() == [])
        }
        _ = desk.end(2, .postponed(.steppedAside))
        #expect(desk.startAll() == [4])
        // Another one, and one that is only next: neither goes before what is active.
        desk.machine.putFirst([PendingItem(id: 0, name: "0", model: "m")], isUrgent: true)
        desk.machine.putFirst([PendingItem(id: 2, name: "2", model: "m")])
        #expect(desk.startAll() == [])
        desk.complete(4)
        #expect(desk.startAll() == [0])
        desk.complete(0)
        #expect(desk.startAll() == [2, 1])
    }

    @Test("An item that was put back is not started before that is recorded")
    func recording() {
        var desk = Desk([Needs(memoryBytes: 1)])
        #expect(desk.startAll() == [0])
        let end = ItemEnd(id: 0, outcome: failure(.freeSpace), seconds: [:])
        let actions = desk.machine.itemEnded(end, cancelled: [], .zero)
        #expect(actions == [.discardStaging(0), .putBack(0, reason("load: reason"))])
        desk.conditions.now = .seconds(100)
        #expect(desk.next() == .wait(.activeItems, until: nil))
        desk.machine.recorded(0, .seconds(100))
        #expect(desk.next() == .start(0, after: nil))
    }

    @Test("A suspect and a lean plan are alone, before and after them")
    func alone() {
        let needs = [1, 1, 1].map { Needs(memoryBytes: $0) } + [Needs(memoryBytes: 1, isLean: true)]
        var desk = Desk(needs, suspects: [0])
        #expect(desk.startAll() == [0])
        desk.complete(0)
        #expect(desk.startAll() == [1, 2])
        desk.complete(1)
        #expect(desk.startAll() == [])
        desk.complete(2)
        #expect(desk.startAll() == [3])
    }

    @Test("Under pressure one item is started when nothing is active, and none beside it")
    func pressure() {
        var desk = Desk([Needs(memoryBytes: 1), Needs(memoryBytes: 1)])
        desk.conditions.isUnderPressure = true
        desk.measurement.memory = MemoryReading(systemTotalBytes: 100, systemAvailableBytes: 50)
        #expect(desk.startAll() == [0])
        desk.conditions.isUnderPressure = false
        #expect(desk.startAll() == [1])
    }

    @Test("Memory of other programs is waited for as long as patience lasts, and others may start meanwhile")
    func machineMemory() {
        var desk = Desk([Needs(memoryBytes: 80), Needs(memoryBytes: 10)]) {
            $0.leastMeasuredBytes = 20
            $0.memoryPatience = .seconds(30)
        }
        desk.measurement.memory = MemoryReading(systemTotalBytes: 100, systemAvailableBytes: 50)
        #expect(desk.startAll() == [1])
        desk.complete(1)
        let shortage = Machine.MemoryShortage(name: "0", bytes: 80, availableBytes: 50)
        #expect(desk.next() == .wait(.memory(shortage), until: .seconds(30)))
        desk.conditions.now = .seconds(30)
        #expect(desk.next() == .start(0, after: .gaveUp(.seconds(30))))
    }

    @Test("Nothing is started outside of the hours; the wait ends exactly when they begin")
    func hours() {
        var desk = Desk([Needs(memoryBytes: 1)])
        desk.conditions.now = .seconds(5)
        desk.conditions.untilOpening = .seconds(3600)
        #expect(desk.next() == .wait(.opening, until: .seconds(3605)))
        desk.conditions.untilOpening = .zero
        #expect(desk.next() == .start(0, after: nil))
    }

    @Test("What cannot be finished between opening and deadline is left at once; a watch waits for the opening")
    func deadlineBeforeOpening() {
        func desk(isWatching: Bool = false, until deadline: Int) -> Desk {
            var desk = Desk([Needs(memoryBytes: 1)]) { $0.isWatching = isWatching }
            desk.conditions.untilOpening = .seconds(3600)
            desk.conditions.untilDeadline = .seconds(deadline)
            return desk
        }
        for deadline in [600, 3600] {
            var left = desk(until: deadline)
            #expect(left.next() == .drain(.deadline(1)))
            #expect(left.next() == .finished)
        }
        var waiting = desk(until: 3601)
        #expect(waiting.next() == .wait(.opening, until: .seconds(3600)))
        var watching = desk(isWatching: true, until: 600)
        #expect(watching.next() == .wait(.opening, until: .seconds(3600)))
        // A second item of 20 s, where 10 s are left after the opening.
        var known = Desk(Array(repeating: Needs(memoryBytes: 60), count: 2))
        #expect(known.startAll() == [0])
        known.complete(0, seconds: 20)
        known.conditions.untilOpening = .seconds(3600)
        known.conditions.untilDeadline = .seconds(3610)
        #expect(known.next() == .drain(.deadline(1)))
    }

    @Test("What would not be finished in time is left, by the pace that was learned; what is unknown is started")
    func deadline() {
        var desk = Desk(Array(repeating: Needs(memoryBytes: 60, steps: 10), count: 4))
        desk.conditions.untilDeadline = .seconds(100)
        #expect(desk.startAll() == [0])
        desk.conditions.now = .seconds(20)
        desk.conditions.untilDeadline = .seconds(80)
        desk.complete(0, seconds: 20)
        #expect(desk.startAll() == [1])
        desk.complete(1, seconds: 20)
        desk.conditions.untilDeadline = .seconds(19)
        #expect(desk.next() == .drain(.deadline(2)))
        #expect(desk.next() == .finished)
        #expect(desk.machine.leftForLater == 2)
    }

    @Test("What was loaded ahead waits again when the hours end, the run is to stop, or the time does not suffice")
    func postponed() {
        var desk = Desk(Array(repeating: Needs(memoryBytes: 40, steps: 10), count: 2))
        #expect(desk.startAll() == [0, 1])
        #expect(desk.machine.postponement(of: 1, desk.conditions) == nil)
        desk.conditions.untilOpening = .seconds(3600)
        #expect(desk.machine.postponement(of: 1, desk.conditions) == .outsideHours)
        let end = ItemEnd(id: 1, outcome: .postponed(.outsideHours), seconds: [:])
        let reason = ItemReason(.interrupted, "the hours ended before its inference began")
        #expect(desk.machine.itemEnded(end, cancelled: [], .zero) == [.putBack(1, reason)])
        desk.machine.recorded(1, .zero)
        desk.active = [0]
        #expect(desk.next() == .wait(.opening, until: .seconds(3600)))
        desk.conditions.untilOpening = .zero
        #expect(desk.next() == .start(1, after: nil))

        desk.conditions.mode = .draining
        #expect(desk.machine.postponement(of: 1, desk.conditions) == nil)
        desk.conditions.returnsLoaded = true
        #expect(desk.machine.postponement(of: 1, desk.conditions) == .stopping)
    }

    @Test("A model of which nothing was completed is judged by its fastest tile so far")
    func timedTile() {
        var desk = Desk(Array(repeating: Needs(memoryBytes: 30, steps: 10), count: 4))
        desk.conditions.untilDeadline = .seconds(100)
        #expect(desk.startAll() == [0, 1, 2])
        desk.machine.stepTimed(0, seconds: 30)
        #expect(desk.machine.postponement(of: 1, desk.conditions) == .tooLate)
        desk.machine.stepTimed(0, seconds: 9)
        desk.machine.stepTimed(0, seconds: 12)
        #expect(desk.machine.postponement(of: 1, desk.conditions) == nil)
        desk.conditions.untilDeadline = .seconds(89)
        #expect(desk.machine.postponement(of: 1, desk.conditions) == .tooLate)
        // What items really took counts more.
        desk.complete(0, seconds: 20)
        desk.machine.stepTimed(1, seconds: 9)
        #expect(desk.machine.postponement(of: 1, desk.conditions) == nil)
        desk.conditions.untilDeadline = .zero
        #expect(desk.machine.postponement(of: 1, desk.conditions) == .tooLate)
    }

    @Test("A start that fails leads back to the queue, to a failure or to the end of the run")
    func failedStarts() {
        var desk = Desk(Array(repeating: Needs(memoryBytes: 1), count: 4))
        #expect(desk.startAll().count == 4)
        #expect(desk.machine.startFailed(0, .failed("bad"), .zero) == [.settle(0, .failed("bad"))])
        #expect(desk.machine.startFailed(1, .diskFull, .zero) == [])
        #expect(desk.machine.startFailed(2, .cancelled(isRecorded: true), .zero) == [.settle(2, .interrupted)])
        #expect(desk.machine.waiting.map(\.id) == [1])
        #expect(desk.machine.startFailed(3, .journal("broken"), .zero) == [.drain(.journal("broken"))])
        #expect(desk.next() == .finished)
        #expect(desk.machine.waiting.map(\.id) == [1, 3])
    }

    @Test("Waiting items are cancelled before their turn; what never reported goes back to waiting")
    func cancelling() {
        var desk = Desk(Array(repeating: Needs(memoryBytes: 60), count: 4))
        desk.conditions.cancelled = ["3"]
        #expect(desk.next() == .settle(3, .cancelled))
        #expect(desk.startAll() == [0])
        desk.conditions.cancelled = ["1"]
        #expect(desk.next() == .settle(1, .cancelled))
        desk.conditions.mode = .cancelled
        #expect(desk.next() == .finished)
        #expect(desk.machine.abandon(cancelled: ["2"]) == [.settle(0, .interrupted), .settle(2, .cancelled)])
    }
}
