package import NocturneJournal

/// What the scheduler decides: which item is started when, and what the end of an item leads to. Without clock, files or
/// tasks: the time and the state of the machine are inputs, and everything to be done is an output.
///
/// Order: the items that a user has put first, suspects, the order of discovery, then retries. In a pause nothing is started. Of those that
/// were put first some may be urgent: they go before the rest and alone, one after the other. An item that does not fit is passed over:
/// - What it lacks is held by items of this run: others may be started before it as long as one of the items is active
///   that were active when it was first passed over. Once all of these have ended nobody overtakes it, so it
///   waits at most for the overtakers that are still active then, and is not starved by small items behind it. As long as
///   it could not be started anyway, the small ones are not held up by it.
///   An item that was put first is overtaken by nobody.
/// - What it lacks is held by somebody else (a full disk, the memory of another program): all others may be started,
///   since holding them back would not help it.
///
/// Invariants, checked by the tests in every state: an item is waiting, active or settled, and only one of these; the
/// leases fit into the budget; nothing is started while a suspect, an urgent item or a lean plan is active; a failed
/// item is retried at most as often as there are retry delays; every batch comes to an end once the disk and the
/// memory allow it.
package struct AdmissionStateMachine: Sendable {
    /// What holds for the whole run.
    package let settings: Settings
    /// The items that wait, in the order in which they are considered, which is the order of ``Waiting/Turn``.
    package internal(set) var queue: [Waiting]
    /// Whether others follow, which are asked for with ``Action/fetch``.
    package internal(set) var hasMore: Bool
    /// Items that were started and whose end is not recorded, by their ids.
    package internal(set) var active: [Int64: Active] = [:]

    /// What was measured for the present decision; nil once something was started or waited for, but for what holds for the
    /// next items too.
    var measurement: MachineMeasurement?
    /// When the free space was last asked for.
    var diskMeasuredAt = Duration.zero
    /// How often in a row the system refused to write; a refusal of everything that is active at once counts once.
    package internal(set) var refusals = 0
    var wasRefused = false
    /// Since when nothing is active and the run waits for space on the disk.
    var diskWaitSince: Duration?
    /// Until then nothing is written after the last refusal.
    package internal(set) var diskTrustedFrom = Duration.zero
    /// Since when an item waits for memory that another program holds, with nothing active.
    package internal(set) var memoryWaits: [Int64: Duration] = [:]
    /// What an item lacks that waits for something this run does not hold, and which item that is; nil when none does.
    package private(set) var shortage: WaitReason?
    private var shortageItem: Int64?

    /// How long items take, and what they take on the disk, as learned so far.
    package internal(set) var pace = LearnedPace()
    /// Seconds a tile of models of which no item was completed yet.
    var timedSteps: [String: Double] = [:]
    /// Since when the machine works on what is active: the last end of an item, or the first start after a rest.
    var busySince = Duration.zero
    /// When the present pause was first seen.
    var pausedSince: Duration?
    /// Items that would probably not be finished in time.
    package internal(set) var leftForLater = 0
    /// Nothing more is started, whatever the mode of the run control is.
    package internal(set) var isDraining = false
    var hasGivenUp = false
    /// Whether a source changed while its item was active.
    package internal(set) var needsDiscovery = false

    /// - Parameters:
    ///   - queue: the first items, suspects in front.
    ///   - hasMore: whether others follow, which are asked for with ``Action/fetch``.
    package init(
        _ queue: [PendingItem],
        hasMore: Bool = false,
        _ settings: Settings,
        pace: LearnedPace = LearnedPace()
    ) {
        self.queue = queue.map { Waiting(item: $0) }
        self.hasMore = hasMore
        self.settings = settings
        self.pace = pace
    }

    /// The items that wait, in the order in which they are considered; without those that were not fetched yet.
    package var waiting: [PendingItem] { queue.map(\.item) }

    /// How many items are known: they wait or are active.
    var knownCount: Int { queue.count + active.count }

    // MARK: Deciding

    /// What is to be done next. To be asked again after each action, and whenever something has changed.
    package mutating func next(_ conditions: Conditions) -> Action {
        if let id = removeCancelled(conditions.cancelled) { return .settle(id, .cancelled) }
        guard conditions.mode == .running, !isDraining else { return .finished }
        if let action = whilePaused(conditions) { return action }
        // Under pressure, and while an item is active that has to be alone, nothing is started: there is nothing to look at.
        let isFull = conditions.mostActive.map { active.count >= $0 } ?? false
        if !active.isEmpty, conditions.isUnderPressure || isFull || active.values.contains(where: \.isAlone) {
            return wait(for: shortage ?? .activeItems)
        }
        var first = 0
        while let index = queue[first...].firstIndex(where: { $0.notBefore <= conditions.now }) {
            let candidate = queue[index]
            let id = candidate.item.id
            guard let needs = candidate.needs else { return .plan(id) }
            let verdict = verdict(on: candidate, needs, conditions)
            if case .act(let action) = verdict { return action }
            note(verdict.shortage, of: id)
            switch verdict {
            case .act: break
            case .starts(let memoryWait):
                queue.remove(at: index)
                return start(candidate, needs, memoryWait, conditions.now)
            case .fails(let reason):
                queue.remove(at: index)
                return .settle(id, .failed(reason))
            case .isLeft:
                queue.remove(at: index)
                leftForLater += 1
            case .waits(let reason):
                if passOver(index, reason) { return wait(for: shortage ?? .activeItems) }
                first = index + 1
            }
        }
        return rest(conditions)
    }

    /// Nil without a pause, and where nothing is left that could wait for its end.
    private mutating func whilePaused(_ conditions: Conditions) -> Action? {
        guard conditions.isPaused else {
            // Nothing was done of what is active meanwhile.
            if let since = pausedSince { busySince += conditions.now - since }
            pausedSince = nil
            return nil
        }
        pausedSince = pausedSince ?? conditions.now
        guard knownCount > 0 else { return nil }
        guard let left = conditions.untilDeadline, !settings.isWatching else { return wait(for: .paused) }
        if left > .zero { return wait(for: .paused, until: conditions.now + left) }
        isDraining = true
        return .drain(.paused)
    }

    /// Nothing can be started now.
    private mutating func rest(_ conditions: Conditions) -> Action {
        if hasMore { return .fetch }
        guard !queue.isEmpty else {
            if !active.isEmpty { return wait(for: .activeItems) }
            guard leftForLater > 0, !settings.isWatching else { return .finished }
            isDraining = true
            return .drain(.deadline(leftForLater))
        }
        if active.isEmpty, case .disk(let shortage)? = shortage {
            if let action = failTooLarge() ?? endWithoutSpace(shortage, conditions.now) { return action }
        }
        let patience = settings.memoryPatience
        let times =
            queue.map(\.notBefore)
            + memoryWaits.values.compactMap { since in patience.map { since + $0 } }
        let until = times.filter { $0 > conditions.now }.min()
        return wait(for: shortage ?? (active.isEmpty ? .retryTime : .activeItems), until: until)
    }

    /// The first item that lacks something is the one that is shown, until it lacks nothing.
    mutating func note(_ reason: WaitReason?, of id: Int64) {
        guard shortageItem == nil || shortageItem == id else { return }
        shortage = reason
        shortageItem = reason == nil ? nil : id
    }

    mutating func wait(for reason: WaitReason, until: Duration? = nil) -> Action {
        measurement = nil
        return .wait(reason, until: until)
    }

    private mutating func start(_ waiting: Waiting, _ needs: Needs, _ wait: MemoryWait?, _ now: Duration) -> Action {
        if active.isEmpty { busySince = now }
        active[waiting.item.id] = Active(
            item: waiting.item,
            needs: needs,
            retries: waiting.retries,
            isAlone: waiting.isAlone(needs),
            freeBytes: measurement?.freeBytes ?? .max,
            fullDisk: waiting.fullDisk
        )
        wasRefused = false
        diskWaitSince = nil
        measurement = lastingMeasurement()
        memoryWaits = [:]
        return .start(waiting.item.id, after: wait)
    }

    // MARK: The queue

    /// Keeps an item waiting.
    /// - Returns: whether nothing behind it may be started either.
    private mutating func passOver(_ index: Int, _ reason: WaitReason) -> Bool {
        var holds = false
        if reason == .activeItems {
            let behind = queue[index].behind ?? Set(active.keys)
            queue[index].behind = behind
            holds = behind.isDisjoint(with: active.keys)
        }
        guard queue[index].turn == .coming else { return holds }
        queue[index].turn = .passedOver
        // Plans are not made for the whole queue only because the budget is in use.
        return holds || queue[...index].count(where: { $0.behind != nil }) >= settings.lookahead
    }

    /// Takes out an item that waits and is to be cancelled.
    mutating func removeCancelled(_ names: Set<String>) -> Int64? {
        guard !names.isEmpty, let index = queue.firstIndex(where: { names.contains($0.item.name) }) else { return nil }
        let id = queue.remove(at: index).item.id
        note(nil, of: id)
        return id
    }

    /// Puts items before all others, in this order.
    /// - Parameters:
    ///   - items: that wait, were not fetched yet, or are active.
    ///   - isUrgent: whether nothing else is started until they have ended. Other active items are not stopped by this.
    package mutating func putFirst(_ items: [PendingItem], isUrgent: Bool = false) {
        if isUrgent { for item in items { active[item.id]?.isAlone = true } }
        let front = items.filter { active[$0.id] == nil }.map { item in
            var waiting = takeOut(item.id) ?? Waiting(item: item)
            waiting.behind = []
            waiting.isUrgent = waiting.isUrgent || isUrgent
            return waiting
        }
        insertFirst(front)
    }

    /// Puts items before all others. Urgent ones stay before the rest.
    mutating func insertFirst(_ items: [Waiting]) {
        var items = items
        for index in items.indices { (items[index].turn, items[index].notBefore) = (.passedOver, .zero) }
        queue = items + queue
        queue = queue.filter(\.isUrgent) + queue.filter { !$0.isUrgent }
    }

    mutating func takeOut(_ id: Int64) -> Waiting? {
        queue.firstIndex { $0.item.id == id }.map { queue.remove(at: $0) }
    }
}
