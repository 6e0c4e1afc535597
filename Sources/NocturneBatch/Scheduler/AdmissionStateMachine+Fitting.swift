import NocturneJournal
import NocturneSystem

/// Whether an item fits: into the hours, the budget, the disk, and the machine's memory.
extension AdmissionStateMachine {
    enum Verdict {
        case starts(MemoryWait?)
        /// For what it lacks.
        case waits(WaitReason)
        /// It can never be started.
        case fails(ItemReason)
        /// It would probably not be finished in time.
        case isLeft
        /// Something else comes first: measuring, or waiting whatever the item is.
        case act(Action)

        /// What the item lacks that this run does not hold.
        var shortage: WaitReason? {
            if case .waits(let reason) = self, reason != .activeItems { reason } else { nil }
        }
    }

    mutating func verdict(on candidate: Waiting, _ needs: Needs, _ conditions: Conditions) -> Verdict {
        guard needs.memoryBytes <= settings.memoryBytes else {
            let (needed, left) = (ByteCount(needs.memoryBytes), ByteCount(settings.memoryBytes))
            return .fails(ItemReason(.overBudget, "needs \(own: needed) of memory, the budget leaves \(own: left)"))
        }
        let isClosed = conditions.untilOpening > .zero
        // A watch has another deadline after the opening.
        guard isClosed && settings.isWatching || canFinish(candidate.item, needs, conditions) else { return .isLeft }
        if isClosed { return .act(wait(for: .opening, until: conditions.now + conditions.untilOpening)) }
        if waitsForLeases(candidate, needs, conditions) { return .waits(.activeItems) }
        if let verdict = diskVerdict(candidate, needs, conditions) { return verdict }
        return memoryVerdict(candidate.item, needs, conditions)
    }

    /// Whether the item will probably be finished in time, after what is active and after the opening. An item of which nothing is known
    /// is started.
    private func canFinish(_ item: PendingItem, _ needs: Needs, _ conditions: Conditions) -> Bool {
        guard let left = conditions.untilDeadline else { return true }
        guard left > conditions.untilOpening else { return false }
        guard let seconds = seconds(item, needs) else { return true }
        let started = active.values.reduce(0) { $0 + (self.seconds($1.item, $1.needs) ?? 0) }
        // The time since the last end was already spent on what is active.
        let remaining = max(0, started - (conditions.now - busySince).inSeconds)
        return max(remaining, conditions.untilOpening.inSeconds) + seconds <= left.inSeconds
    }

    /// What an item will probably take; nil as long as nothing is known of its model.
    private func seconds(_ item: PendingItem, _ needs: Needs) -> Double? {
        pace.seconds(model: item.model, steps: needs.steps)
            ?? timedSteps[item.model].map { $0 * Double(max(needs.steps, 1)) }
    }

    // MARK: Items that were loaded ahead

    /// A tile of an active item took so long. The fastest one counts until an item of the model is completed: the first
    /// tile of a session takes longer than those after it.
    package mutating func stepTimed(_ id: Int64, seconds: Double) {
        guard let model = active[id]?.item.model, pace.seconds(model: model, steps: 1) == nil else { return }
        timedSteps[model] = min(timedSteps[model] ?? seconds, seconds)
    }

    /// Why an active item must not continue to its inference; nil when it may. Items are loaded while others are computed,
    /// and the hours, the deadline or a request to stop may come before their turn does.
    package func postponement(of id: Int64, _ conditions: Conditions) -> Postponement? {
        guard let item = active[id] else { return nil }
        if conditions.mode == .draining, conditions.returnsLoaded { return .stopping }
        if conditions.untilOpening > .zero { return .outsideHours }
        guard let left = conditions.untilDeadline else { return nil }
        return left <= .zero || seconds(item.item, item.needs).map { $0 > left.inSeconds } ?? false ? .tooLate : nil
    }

    /// Whether the active items have leased what the item needs, or it has to be alone.
    private func waitsForLeases(_ candidate: Waiting, _ needs: Needs, _ conditions: Conditions) -> Bool {
        if active.isEmpty { return false }
        let free = settings.memoryBytes + conditions.releasedBytes - conditions.leasedBytes
        return candidate.isAlone(needs) || needs.memoryBytes > free
    }

    // MARK: The disk

    /// Nil when there is space on the disk.
    private mutating func diskVerdict(_ candidate: Waiting, _ needs: Needs, _ conditions: Conditions) -> Verdict? {
        let item = candidate.item
        let alone = pace.diskBytes(model: item.model, predicted: needs.diskBytes) + settings.diskSpareBytes
        // Active items may not have written anything yet: what they need counts in full.
        let wanted = active.values.reduce(alone) {
            $0 + pace.diskBytes(model: $1.item.model, predicted: $1.needs.diskBytes)
        }
        guard let measurement, let free = measurement.freeBytes,
            !measurement.isEarlier || holdsForNext(free, wanted, conditions.now)
        else {
            diskMeasuredAt = conditions.now
            measurement?.isEarlier = false
            return .act(.measure(diskBytes: wanted, attempt: refusals > 0, memory: false))
        }
        if let reason = failure(candidate.fullDisk) { return .fails(reason) }
        func shortage(_ refusal: DiskRefusal?) -> DiskShortage {
            DiskShortage(neededBytes: wanted, freeBytes: free, refusal: refusal, place: measurement.place)
        }
        // No item fits, not even the smallest one.
        if free < settings.diskSpareBytes, active.isEmpty {
            return .act(withoutSpace(item, shortage(nil), conditions.now))
        }
        if free < wanted { return .waits(!active.isEmpty && free >= alone ? .activeItems : .disk(shortage(nil))) }
        guard refusals > 0 else { return nil }
        // Whatever the free space is, writing has failed: an attempt has to succeed, and not at once.
        if conditions.now < diskTrustedFrom {
            let reason = WaitReason.disk(shortage(measurement.refusal))
            note(reason, of: item.id)
            return .act(wait(for: reason, until: diskTrustedFrom))
        }
        if let refused = measurement.refusedBytes, wanted >= refused {
            return .waits(.disk(shortage(measurement.refusal)))
        }
        if let granted = measurement.grantedBytes, wanted <= granted { return nil }
        return .act(.measure(diskBytes: wanted, attempt: true, memory: false))
    }

    /// Whether the free space that was measured for an earlier item is good for another one: a moment ago, and so much that
    /// the difference cannot matter.
    private func holdsForNext(_ free: Int, _ wanted: Int, _ now: Duration) -> Bool {
        // 4 GiB more than is wanted: others cannot write that in a tenth of a second.
        now - diskMeasuredAt < .milliseconds(100) && free >= wanted + (4 << 30)
    }

    /// What is left of the measurement for the item after the one that is started: the free space.
    func lastingMeasurement() -> MachineMeasurement? {
        guard refusals == 0, let free = measurement?.freeBytes else { return nil }
        var lasting = MachineMeasurement()
        lasting.freeBytes = free
        lasting.capacityBytes = measurement?.capacityBytes
        lasting.isCapacityOfWork = measurement?.isCapacityOfWork ?? false
        lasting.isEarlier = true
        return lasting
    }

    /// Fails an item that filled the disk while it was active, too often to be tried again; nil for all others.
    private func failure(_ full: FullDisk?) -> ItemReason? {
        guard let full, full.timesAlone >= Self.fullDisksAlone else { return nil }
        let text: Sentence =
            "the disk became full \(full.timesAlone) times while only this item was active; \(own: ByteCount(full.freeBytes)) were "
            + "free when it was started the last time"
        return ItemReason(.diskFull, text)
    }

    /// An item that fills the disk alone so often needs more than there is.
    private static let fullDisksAlone = 3

    /// Once nothing else can be started: an item that needs more than an empty disk would have fails with the figures. Not
    /// before, since what results of other items really take may show that it needs less.
    mutating func failTooLarge() -> Action? {
        guard let measurement, let capacity = measurement.capacityBytes else { return nil }
        func needed(_ waiting: Waiting) -> Int {
            pace.diskBytes(model: waiting.item.model, predicted: waiting.needs?.diskBytes ?? 0)
                + settings.diskSpareBytes
        }
        guard let index = queue.firstIndex(where: { needed($0) > capacity }) else { return nil }
        let waiting = queue.remove(at: index)
        note(nil, of: waiting.item.id)
        // Without paths, which reports do not have either.
        let place = measurement.isCapacityOfWork ? "folder for work" : "output folder"
        let text: Sentence =
            "needs \(own: ByteCount(needed(waiting))), and the disk of the \(own: place) has \(own: ByteCount(capacity)) in total"
        return .settle(waiting.item.id, .failed(ItemReason(.diskFull, text)))
    }

    private mutating func withoutSpace(_ item: PendingItem, _ shortage: DiskShortage, _ now: Duration) -> Action {
        note(.disk(shortage), of: item.id)
        return endWithoutSpace(shortage, now) ?? wait(for: .disk(shortage))
    }

    /// The end of a run in which nothing is active and nothing can be started for want of space; nil while that is waited for.
    mutating func endWithoutSpace(_ shortage: DiskShortage, _ now: Duration) -> Action? {
        let since = diskWaitSince ?? now
        diskWaitSince = since
        guard settings.stopsWhenFull || now - since >= settings.diskPatience else { return nil }
        isDraining = true
        return .drain(.diskFull(shortage))
    }

    /// What was measured after ``Action/measure(diskBytes:attempt:memory:)``.
    package mutating func measured(_ new: MachineMeasurement) {
        var merged = measurement ?? MachineMeasurement()
        merged.place = new.place ?? merged.place
        merged.freeBytes = new.freeBytes ?? merged.freeBytes ?? .max
        if new.capacityBytes != nil {
            (merged.capacityBytes, merged.isCapacityOfWork) = (new.capacityBytes, new.isCapacityOfWork)
        }
        merged.grantedBytes = [merged.grantedBytes, new.grantedBytes].compactMap(\.self).max()
        merged.refusedBytes = [merged.refusedBytes, new.refusedBytes].compactMap(\.self).min()
        merged.refusal = new.refusal ?? merged.refusal
        merged.memory = new.memory ?? merged.memory
        measurement = merged
    }

    /// The system refused to write for want of space.
    mutating func noteRefusal(_ now: Duration) {
        if !wasRefused {
            refusals = min(refusals + 1, 7)
            diskTrustedFrom = now + DiskShortage.pause(afterRefusals: refusals)
        }
        wasRefused = true
    }

    // MARK: The machine's memory

    private mutating func memoryVerdict(_ item: PendingItem, _ needs: Needs, _ conditions: Conditions) -> Verdict {
        let bytes = needs.memoryBytes
        // A measurement is not worth its time for small items, unless memory is short.
        guard bytes >= settings.leastMeasuredBytes || conditions.isUnderPressure else { return .starts(nil) }
        guard let reading = measurement?.memory else {
            return .act(.measure(diskBytes: nil, attempt: false, memory: true))
        }
        let memory = MemoryAvailability(
            bytes: bytes,
            reading: reading,
            leasedBytes: conditions.leasedBytes,
            engineBytes: settings.engineBytes - conditions.releasedBytes,
            isAmongOthers: !active.isEmpty
        )
        switch memory.verdict {
        case .fits: return .starts(memoryWaits[item.id].map { .ended(conditions.now - $0) })
        case .heldByActiveItems: return .waits(.activeItems)
        case .heldByOthers(let available):
            let shortage = WaitReason.memory(MemoryShortage(name: item.name, bytes: bytes, availableBytes: available))
            // Active items free memory when they end; the patience is for waiting without any.
            guard active.isEmpty else { return .waits(shortage) }
            let since = memoryWaits[item.id] ?? conditions.now
            memoryWaits[item.id] = since
            if let patience = settings.memoryPatience, conditions.now - since >= patience {
                return .starts(.gaveUp(conditions.now - since))
            }
            return .waits(shortage)
        }
    }
}
