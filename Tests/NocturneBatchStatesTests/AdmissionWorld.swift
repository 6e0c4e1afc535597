import NocturneBatch
import NocturneJournal
import NocturneSystem
import NocturneTestSupport

/// Mistakes that the scheduler's decisions could have, made by falsifying what the machine hears or says.
enum AdmissionFlaw: CaseIterable {
    case ignoresBudget, suspectsBesideOthers, leanPlansBesideOthers, ignoresPressure, ignoresDisk, ignoresMemory
    case losesRetries, retriesForEver, settlesAndRetries, recordsTooEarly, startsCancelled
    case oneBlocksAll, starvesTheLarge, neverFinishes
    case ignoresPause, losesReleased, ignoresFirst, neverContinues, urgentBesideOthers
}

/// The state machine itself, with room for one flaw around it.
struct FlawedAdmission {
    typealias Machine = AdmissionStateMachine

    var machine: Machine
    var flaw: AdmissionFlaw?
    private var wasPaused = false

    init(machine: Machine, flaw: AdmissionFlaw?) { (self.machine, self.flaw) = (machine, flaw) }

    mutating func putFirst(_ item: PendingItem, isUrgent: Bool) {
        if flaw != .ignoresFirst { machine.putFirst([item], isUrgent: isUrgent && flaw != .urgentBesideOthers) }
    }

    mutating func next(_ conditions: Machine.Conditions) -> Machine.Action {
        var conditions = conditions
        if flaw == .ignoresBudget { conditions.leasedBytes = 0 }
        if flaw == .ignoresPressure { conditions.isUnderPressure = false }
        if flaw == .startsCancelled { conditions.cancelled = [] }
        if flaw == .ignoresPause { conditions.isPaused = false }
        wasPaused = wasPaused || conditions.isPaused
        if flaw == .neverContinues, wasPaused, conditions.mode == .running { conditions.isPaused = true }
        let action = machine.next(conditions)
        if flaw == .neverFinishes, action == .finished { return .wait(.activeItems, until: nil) }
        return action
    }

    mutating func planned(_ id: Int64, _ needs: Machine.Needs) {
        var needs = needs
        if flaw == .leanPlansBesideOthers { needs.isLean = false }
        machine.planned(id, needs)
    }

    /// - Parameters:
    ///   - reserved: what the active items may write.
    ///   - isScarce: whether an item that waits does not fit.
    mutating func measured(_ measurement: MachineMeasurement, reserved: Int, isScarce: Bool) {
        var measurement = measurement
        if flaw == .ignoresDisk { measurement.freeBytes = .max }
        if flaw == .ignoresMemory { measurement.memory = MemoryReading() }
        if flaw == .oneBlocksAll, isScarce { measurement.freeBytes = -1 }
        if flaw == .starvesTheLarge, !machine.active.isEmpty { measurement.freeBytes = reserved + 1 }
        machine.measured(measurement)
    }

    mutating func itemEnded(_ end: ItemEnd, cancelled: Set<String>, _ now: Duration) -> [Machine.Action] {
        var end = end
        if flaw == .retriesForEver, case .failed(let reason, .retry) = end.outcome {
            end = ItemEnd(
                id: end.id,
                outcome: .failed(reason, recovery: .freeSpace),
                seconds: [:]
            )
        }
        if flaw == .losesRetries, case .failed(let reason, .retry) = end.outcome {
            end = ItemEnd(
                id: end.id,
                outcome: .failed(reason, recovery: .rediscover),
                seconds: [:]
            )
            return machine.itemEnded(end, cancelled: cancelled, now).filter { $0 != .discardStaging(end.id) }
        }
        if flaw == .losesReleased, case .postponed = end.outcome {
            end = ItemEnd(id: end.id, outcome: .interrupted, seconds: [:])
        }
        var actions = machine.itemEnded(end, cancelled: cancelled, now)
        if flaw == .settlesAndRetries, case .putBack(let id, let reason)? = actions.first {
            actions.append(.settle(id, .failed(reason)))
        }
        if flaw == .recordsTooEarly { machine.recorded(end.id, now) }
        return actions
    }
}

/// A scheduler with a few items, on a machine whose disk, memory and users do what they like.
struct AdmissionWorld: SmallWorld {
    typealias Machine = AdmissionStateMachine

    enum Place: UInt8 {
        case waiting, active
        /// It has ended and will wait again, which is not recorded yet.
        case returning
        case completed, failed, cancelled, interrupted
    }

    enum End: Hashable { case completes, fails, failsForNow, lacksSpace, isInterrupted, isReleased, isNotReusable }

    enum Move: Hashable {
        case decide, end(Int, End), record(Int), passTime
        case disk(isLow: Bool), memory(isScarce: Bool), pressure(Bool), cancel(Int), drain
        case pause(Bool), putFirst(Int, isUrgent: Bool), deadline
    }

    struct Item: Hashable {
        let needs: Machine.Needs
        let isSuspect: Bool
        var place = Place.waiting
        var attempts = 0
        var isCancelled = false
        /// It was active when the system refused to write, and is alone from then on.
        var hasFilledDisk = false
        /// What was active when it was first overtaken although the machine had what it needs.
        var overtaken: Set<Int64>?
        /// When a user has put it first, counted from the last one.
        var first: Int?
        /// A user needs it now; until its end is recorded, whatever comes of it.
        var isUrgent = false
        /// It was active when a user needed another one now.
        var stepsAside = false
        /// It was stopped in a pause, or is to be processed since a result cannot be taken, and has not been started again.
        var isReleased = false
        /// The result of another batch turned out to be damaged.
        var isNotReusable = false
    }

    /// What may happen.
    struct Events {
        var ends: [End] = [.completes]
        var disk = false
        var memory = false
        var pressure = false
        var cancels = false
        var drains = false
        var pauses = false
        /// How often users put an item first.
        var firsts = 0
        /// How often users need an item now.
        var urgent = 0
        var deadline = false
        /// How often the system refuses to write.
        var refusals = 1
    }

    var rules: FlawedAdmission
    private let events: Events
    private let budget: Int
    private let freeBytes: (ordinary: Int, low: Int)
    private var items: [Item]
    private var now = Duration.zero
    private var isLow = false
    private var isScarce = false
    private var isPressed = false
    private var isPaused = false
    private var isLate = false
    private var firstsLeft: Int
    private var urgentLeft: Int
    private var mode = RunControl.Mode.running
    private var refusalsLeft: Int
    private var until: Duration?
    private var isFinished = false

    init(
        _ needs: [Machine.Needs],
        suspects: Set<Int> = [],
        budget: Int,
        _ events: Events,
        stopsWhenFull: Bool = false,
        flaw: AdmissionFlaw? = nil
    ) {
        var settings = Machine.Settings(memoryBytes: budget)
        settings.diskSpareBytes = 0
        settings.leastMeasuredBytes = 3
        settings.stopsWhenFull = stopsWhenFull
        let order = needs.indices.sorted { suspects.contains($0) && !suspects.contains($1) }
        let queue = order.map { index in
            PendingItem(
                id: Int64(index),
                name: "\(index)",
                isAlone: suspects.contains(index) && flaw != .suspectsBesideOthers
            )
        }
        items = needs.indices.map { Item(needs: needs[$0], isSuspect: suspects.contains($0)) }
        rules = FlawedAdmission(machine: Machine(queue, settings), flaw: flaw)
        self.events = events
        self.budget = budget
        freeBytes = (20, 2)
        refusalsLeft = events.refusals
        (firstsLeft, urgentLeft) = (events.firsts, events.urgent)
    }

    // MARK: The state

    struct Key: Hashable {
        let items: [Item]
        let queue: [Machine.Waiting]
        let outside: [Bool]
        let mode: RunControl.Mode
        let times: [Duration]
        let counts: [Int]
    }

    var key: Key {
        let machine = rules.machine
        func left(_ time: Duration) -> Duration { max(.zero, time - now) }
        var queue = machine.queue
        for index in queue.indices { queue[index].notBefore = left(queue[index].notBefore) }
        return Key(
            items: items,
            queue: queue,
            outside: [isLow, isScarce, isPressed, isPaused, isLate, isFinished, machine.isDraining],
            mode: mode,
            times: [left(machine.diskTrustedFrom), left(until ?? .zero)],
            counts: [machine.refusals, refusalsLeft, firstsLeft, urgentLeft]
        )
    }

    private func indices(_ place: Place) -> [Int] { items.indices.filter { items[$0].place == place } }
    private var activeIndices: [Int] {
        items.indices.filter { [.active, .returning].contains(items[$0].place) }
    }
    private var leased: Int { indices(.active).reduce(0) { $0 + items[$1].needs.memoryBytes } }
    private var reserved: Int { activeIndices.reduce(0) { $0 + items[$1].needs.diskBytes } }
    private var free: Int { isLow ? freeBytes.low : freeBytes.ordinary }
    private func isAlone(_ item: Item) -> Bool {
        item.isSuspect || item.isUrgent || item.needs.isLean || item.hasFilledDisk
    }
    private var cancelledNames: Set<String> {
        Set(indices(.waiting).filter { items[$0].isCancelled }.map { "\($0)" })
    }

    private var conditions: Machine.Conditions {
        var conditions = Machine.Conditions(now: now)
        conditions.mode = mode
        conditions.cancelled = cancelledNames
        conditions.leasedBytes = leased
        conditions.isUnderPressure = isPressed
        conditions.isPaused = isPaused
        if events.deadline { conditions.untilDeadline = isLate ? .zero : .seconds(1000) }
        return conditions
    }

    private var reading: MemoryReading {
        var reading = MemoryReading()
        (reading.systemTotalBytes, reading.systemAvailableBytes) = (1000, isScarce ? 0 : 1000)
        reading.anonymousBytes = leased
        return reading
    }

    var fault: String? {
        if leased > budget { return "above the budget" }
        let running = indices(.active).filter { !items[$0].stepsAside }
        if running.count > 1, running.contains(where: { isAlone(items[$0]) }) { return "not alone" }
        let waiting = rules.machine.waiting.map { Int($0.id) }
        guard Set(waiting).count == waiting.count else { return "an item waits twice" }
        for (index, item) in items.enumerated() {
            if item.attempts > 3 { return "more than two retries of \(index)" }
            if waiting.contains(index) != (item.place == .waiting) {
                return "\(index) is \(item.place), and \(waiting.contains(index) ? "waits" : "does not wait")"
            }
        }
        return nil
    }

    // MARK: Moves

    var moves: [Move] {
        var moves: [Move] = isFinished ? [] : [.decide]
        for index in items.indices {
            switch items[index].place {
            case .active:
                for end in events.ends
                where (end != .lacksSpace || refusalsLeft > 0)
                    && (end != .isReleased || isPaused || items[index].stepsAside)
                    && (end != .isNotReusable || !items[index].isNotReusable)
                {
                    moves.append(.end(index, end))
                }
            case .returning: moves.append(.record(index))
            case .waiting where events.cancels && !items[index].isCancelled: moves.append(.cancel(index))
            default: break
            }
            guard [.waiting, .active].contains(items[index].place) else { continue }
            if firstsLeft > 0 { moves.append(.putFirst(index, isUrgent: false)) }
            if urgentLeft > 0 { moves.append(.putFirst(index, isUrgent: true)) }
        }
        if until != nil { moves.append(.passTime) }
        if events.pauses, !isLate { moves.append(.pause(!isPaused)) }
        if events.deadline, isPaused, !isLate { moves.append(.deadline) }
        if events.disk { moves.append(.disk(isLow: !isLow)) }
        if events.memory { moves.append(.memory(isScarce: !isScarce)) }
        if events.pressure { moves.append(.pressure(!isPressed)) }
        if events.drains, mode == .running { moves.append(.drain) }
        return moves
    }

    mutating func make(_ move: Move) -> String? {
        switch move {
        case .decide: return decide()
        case .end(let index, let end): return self.end(index, end)
        case .record(let index):
            rules.machine.recorded(Int64(index), now)
            (items[index].place, items[index].isUrgent) = (.waiting, false)
        case .passTime:
            now = max(now, until ?? now)
            until = nil
        case .disk(let isLow): self.isLow = isLow
        case .memory(let isScarce): self.isScarce = isScarce
        case .pressure(let isPressed): self.isPressed = isPressed
        case .cancel(let index): items[index].isCancelled = true
        case .drain: mode = .draining
        case .pause(let isPaused): self.isPaused = isPaused
        case .deadline: isLate = true
        case .putFirst(let index, let isUrgent):
            firstsLeft -= isUrgent ? 0 : 1
            urgentLeft -= isUrgent ? 1 : 0
            rules.putFirst(
                PendingItem(id: Int64(index), name: "\(index)", isAlone: items[index].isSuspect),
                isUrgent: isUrgent
            )
            if isUrgent {
                for other in indices(.active) where other != index { items[other].stepsAside = true }
                (items[index].isUrgent, items[index].stepsAside) = (true, false)
            }
            guard items[index].place == .waiting else { break }
            for other in items.indices { items[other].first = items[other].first.map { $0 + 1 } }
            items[index].first = 0
        }
        return nil
    }

    /// Follows the machine until it starts something, settles something, or waits.
    private mutating func decide() -> String? {
        until = nil
        for _ in 0..<100 {
            switch rules.next(conditions) {
            case .fetch: return "asks for items although it has all"
            case .plan(let id): rules.planned(id, items[Int(id)].needs)
            case .measure(_, let attempt, let memory): measure(attempt: attempt, memory: memory)
            case .start(let id, _): return start(Int(id))
            case .settle(let id, .cancelled):
                guard items[Int(id)].isCancelled else { return "\(id) was cancelled by nobody" }
                items[Int(id)].place = .cancelled
                return nil
            case .settle(let id, .failed):
                items[Int(id)].place = .failed
                return nil
            case .wait(let reason, let time):
                until = time
                return check(reason, time)
            case .drain, .giveUp:
                mode = .draining
                return nil
            case .finished:
                isFinished = true
                let isOver = mode != .running || (rules.machine.waiting.isEmpty && activeIndices.isEmpty)
                return isOver ? nil : "finished with items left"
            case .complete, .putBack, .discardStaging, .settle: return "an end without an item that ended"
            }
        }
        return "deciding for ever"
    }

    private mutating func measure(attempt: Bool, memory: Bool) {
        var measurement = MachineMeasurement()
        measurement.freeBytes = free
        if attempt { measurement.grantedBytes = free }
        if memory { measurement.memory = reading }
        let isScarce = indices(.waiting).contains { items[$0].needs.diskBytes > free }
        rules.measured(measurement, reserved: reserved, isScarce: isScarce)
    }

    private mutating func start(_ index: Int) -> String? {
        guard items[index].place == .waiting else { return "\(index) was started while \(items[index].place)" }
        if items[index].isCancelled { return "\(index) was started though it is cancelled" }
        if isPressed, !activeIndices.isEmpty { return "\(index) was started under pressure" }
        if isPaused { return "\(index) was started in a pause" }
        if items[index].isUrgent, !activeIndices.isEmpty { return "\(index) is urgent, and was not started alone" }
        if let other = indices(.waiting).first(where: { isBefore($0, index) && items[$0].needs.diskBytes <= free }),
            !isScarce, rules.machine.refusals == 0
        {
            return "\(other) was to be started before \(index)"
        }
        if reserved + items[index].needs.diskBytes > free { return "no space for \(index)" }
        if isScarce, items[index].needs.memoryBytes >= 3 { return "no memory for \(index)" }
        let active = Set(activeIndices.map(Int64.init))
        for other in ahead(of: index) where items[other].needs.diskBytes <= free && !isScarce {
            if let before = items[other].overtaken, before.isDisjoint(with: active) {
                return "\(other) is starved by \(index)"
            }
            items[other].overtaken = items[other].overtaken ?? active
        }
        items[index].place = .active
        // One that waits again has not been overtaken since.
        (items[index].first, items[index].isReleased, items[index].overtaken) = (nil, false, nil)
        return nil
    }

    /// Whether a user has put the one before the other.
    private func isBefore(_ index: Int, _ other: Int) -> Bool {
        if items[index].isUrgent != items[other].isUrgent { return items[index].isUrgent }
        // One that was stopped in a pause is continued.
        guard let first = items[index].first, items[index].isUrgent || !items[other].isReleased else { return false }
        return items[other].first.map { first < $0 } ?? true
    }

    /// The items that wait and are considered before one that has just been taken out.
    private func ahead(of index: Int) -> [Int] {
        let passed = rules.machine.queue.filter { $0.turn == .passedOver }.map { Int($0.item.id) }
        // A user has put it first, or it had been started before and was stopped in a pause.
        if items[index].first != nil || items[index].isReleased { return [] }
        let isRetry = items[index].attempts > 0
        return passed.filter { isRetry || items[$0].attempts == 0 && order(of: $0) < order(of: index) }
    }

    /// Suspects first.
    private func order(of index: Int) -> Int { items[index].isSuspect ? index : items.count + index }

    /// Whether there was reason to wait.
    private func check(_ reason: Machine.WaitReason, _ time: Duration?) -> String? {
        if let words = heldUp { return words }
        guard activeIndices.isEmpty, time == nil else { return nil }
        return switch reason {
        case .disk: isLow ? nil : "waits for a disk that is free"
        case .memory: isScarce ? nil : "waits for memory that is free"
        case .paused: isPaused ? nil : "waits for the end of no pause"
        case .activeItems, .retryTime, .opening: "stands still"
        }
    }

    /// An item that would fit, but waits behind items that only a larger disk could help.
    private var heldUp: String? {
        guard rules.machine.refusals == 0, !isScarce, !isPressed, !isPaused else { return nil }
        let others = activeIndices.map { items[$0] }
        for index in rules.machine.waiting.map({ Int($0.id) }) {
            let item = items[index]
            if item.attempts > 0, item.first == nil, !item.isReleased { continue }
            let lacksMemory =
                !others.isEmpty
                && (isAlone(item) || others.contains(where: isAlone) || item.needs.memoryBytes > budget - leased)
            // Nobody overtakes one that was put first because of what active items hold, whatever it lacks besides.
            if item.first != nil, lacksMemory { return nil }
            if item.needs.diskBytes > free { continue }
            return lacksMemory || reserved + item.needs.diskBytes > free ? nil : "\(index) would fit"
        }
        return nil
    }

    private mutating func end(_ index: Int, _ end: End) -> String? {
        let postponement = items[index].stepsAside ? Postponement.steppedAside : .paused
        items[index].stepsAside = false
        let outcome: ItemEnd.Outcome =
            switch end {
            case .completes: .completed(ItemProduct(files: [], statistics: [], notes: []))
            case .fails: .failed(ItemReason(FaultCode("test", "reason"), "bad", stage: "load"), recovery: nil)
            case .failsForNow: .failed(ItemReason(FaultCode("test", "reason"), "busy", stage: "load"), recovery: .retry)
            case .lacksSpace:
                .failed(ItemReason(FaultCode("test", "reason"), "full", stage: "write"), recovery: .freeSpace)
            case .isInterrupted: .interrupted
            case .isReleased: .postponed(postponement)
            case .isNotReusable:
                .failed(ItemReason(FaultCode("test", "reason"), "damaged", stage: "write"), recovery: .process)
            }
        if end == .lacksSpace { (refusalsLeft, items[index].hasFilledDisk) = (refusalsLeft - 1, true) }
        if end == .failsForNow { items[index].attempts += 1 }
        if end == .isNotReusable { items[index].isNotReusable = true }
        items[index].isReleased = [.isReleased, .isNotReusable].contains(end)
        let actions = rules.itemEnded(
            ItemEnd(id: Int64(index), outcome: outcome, seconds: [:]),
            cancelled: items[index].isCancelled ? ["\(index)"] : [],
            now
        )
        var ends = 0
        for action in actions {
            switch action {
            case .complete: (items[index].place, ends) = (.completed, ends + 1)
            case .settle(_, .failed): (items[index].place, ends) = (.failed, ends + 1)
            case .settle(_, .cancelled): (items[index].place, ends) = (.cancelled, ends + 1)
            case .settle(_, .interrupted): (items[index].place, ends) = (.interrupted, ends + 1)
            case .putBack:
                ends += 1
                let returns = rules.machine.active[Int64(index)]?.returns != nil
                guard returns || rules.machine.isDraining else { return "\(index) was put back nowhere" }
                items[index].place = returns ? .returning : .interrupted
            case .drain: mode = .draining
            default: break
            }
        }
        guard ends == 1 else { return "the end of \(index) led to \(ends) ends" }
        if items[index].isReleased, items[index].place != .returning { return "\(index) was lost" }
        // How long the recording takes matters only for what is to be started again.
        if items[index].place != .returning {
            rules.machine.recorded(Int64(index), now)
            items[index].isUrgent = false
        }
        return nil
    }

    // MARK: The end

    /// With a disk, memory and users that let it, the batch comes to its end, and every item to its own.
    mutating func settle() -> String? {
        (isLow, isScarce, isPressed, isPaused) = (false, false, false, isLate)
        for _ in 0..<200 {
            if isFinished, activeIndices.isEmpty { break }
            if let index = indices(.returning).first {
                if let words = make(.record(index)) ?? fault { return words }
            } else if let words = isFinished ? nil : make(.decide) ?? fault {
                return words
            } else if let index = indices(.active).first, isFinished || until == nil {
                if let words = make(.end(index, .completes)) ?? fault { return words }
            } else if until != nil {
                _ = make(.passTime)
            }
        }
        guard isFinished, activeIndices.isEmpty else { return "the batch stands still" }
        if mode != .running { return nil }
        let left = indices(.waiting)
        return left.isEmpty ? nil : "\(left) are left"
    }
}
