package import NocturneJournal
import NocturneOutput
import NocturneSystem

/// What the answers of the outside lead to: plans, failed starts, and the ends of items.
extension AdmissionStateMachine {
    // MARK: Answers to actions

    /// The items that were asked for with ``Action/fetch``.
    /// - Parameter hasMore: whether others follow.
    package mutating func fetched(_ items: [PendingItem], hasMore: Bool) {
        let index = queue.firstIndex { $0.turn == .again } ?? queue.endIndex
        queue.insert(contentsOf: items.map { Waiting(item: $0) }, at: index)
        self.hasMore = hasMore
    }

    /// What the item needs that was asked about with ``Action/plan(_:)``.
    package mutating func planned(_ id: Int64, _ needs: Needs) {
        if let index = queue.firstIndex(where: { $0.item.id == id }) { queue[index].needs = needs }
    }

    /// The item that was asked about cannot be planned.
    package mutating func planFailed(_ id: Int64, _ reason: ItemReason) -> [Action] {
        takeOut(id) == nil ? [] : [.settle(id, .failed(reason))]
    }

    /// Why an item could not be started.
    package enum StartFailure: Hashable, Sendable {
        /// The journal had no space to record it.
        case diskFull
        /// The journal cannot be written at all, so that no result can be recorded.
        case journal(String)
        case failed(ItemReason)
        /// The run was stopped meanwhile, after the journal had recorded the start or before.
        case cancelled(isRecorded: Bool)
    }

    /// What the failure of ``Action/start(_:after:)`` leads to. Unless the item itself failed, it waits again.
    package mutating func startFailed(_ id: Int64, _ failure: StartFailure, _ now: Duration) -> [Action] {
        guard let item = active.removeValue(forKey: id) else { return [] }
        removeFromWaits(id)
        var end: String?
        switch failure {
        case .failed(let reason): return [.settle(id, .failed(reason))]
        case .cancelled(isRecorded: true): return [.settle(id, .interrupted)]
        case .cancelled: break
        case .diskFull where !settings.stopsWhenFull: noteRefusal(now)
        case .diskFull: end = "no space on the disk for the journal"
        case .journal(let reason): end = reason
        }
        queue.append(item.again(from: now))
        guard let end else { return [] }
        // What is active is brought to its end.
        isDraining = true
        return [.drain(.journal(end))]
    }

    // MARK: Ends of items

    /// What the end of an item leads to. Once this has been done, ``recorded(_:_:)`` is due: until then the item counts as
    /// active, so that it is not started again before the journal has its end.
    /// - Parameter cancelled: the names of the items that are to be cancelled.
    package mutating func itemEnded(_ end: ItemEnd, cancelled: Set<String>, _ now: Duration) -> [Action] {
        guard var item = active[end.id], !item.isEnding else { return [] }
        item.isEnding = true
        defer { active[end.id] = item }
        switch end.outcome {
        case .completed(let product):
            refusals = 0
            // A result that was copied from another batch shows nothing about this machine.
            let seconds = end.seconds.values.reduce(0, +)
            if product.origin == nil {
                pace.learn(model: item.item.model, seconds: seconds, steps: item.needs.steps)
                pace.learn(model: item.item.model, diskBytes: product.bytes, predicted: item.needs.diskBytes)
            }
            return [.complete(end.id, seconds: seconds, product)]
        case .interrupted:
            return [.settle(end.id, cancelled.contains(item.item.name) ? .cancelled : .interrupted)]
        case .postponed(let postponement):
            item.returns = item.again(from: now)
            item.goesFirst = postponement.goesFirst
            return [.putBack(end.id, ItemReason(.interrupted, Sentence(shown: postponement.rawValue)))]
        case .failed(let reason, let recovery):
            var text = reason
            text.sentence = Sentence(shown: "\(reason.stage ?? ""): ") + reason.sentence
            switch recovery {
            case .retry? where item.retries < settings.retryDelays.count:
                item.returns = item.again(from: now + settings.retryDelays[item.retries], retries: item.retries + 1)
                return [.putBack(end.id, text)]
            case .freeSpace?:
                return whenFull(&item, text, now)
            case .repairOutput?:
                defer { hasGivenUp = true }
                return (hasGivenUp ? [] : [.giveUp(reason.text)]) + [.putBack(end.id, reason)]
            case .rediscover?:
                needsDiscovery = true
                return [.discardStaging(end.id), .putBack(end.id, reason)]
            case .process?:
                // What it needs is found out again.
                item.returns = Waiting(item: item.item, retries: item.retries)
                item.goesFirst = true
                return [.discardStaging(end.id), .putBack(end.id, text)]
            case .setAside?: return [.discardStaging(end.id), .settle(end.id, .setAside(reason))]
            case .retry?, nil:
                return [.discardStaging(end.id), .settle(end.id, .failed(reason))]
            }
        }
    }

    /// The disk is full. What the item has written goes, so that others fit, and it comes again after them, alone.
    private mutating func whenFull(_ item: inout Active, _ reason: ItemReason, _ now: Duration) -> [Action] {
        noteRefusal(now)
        let timesAlone = (item.fullDisk?.timesAlone ?? 0) + (active.count == 1 ? 1 : 0)
        item.fullDisk = FullDisk(timesAlone: timesAlone, freeBytes: item.freeBytes)
        item.returns = item.again(from: now)
        return [.discardStaging(item.item.id), .putBack(item.item.id, reason)]
    }

    /// The end of an item has been recorded: it is active no longer.
    package mutating func recorded(_ id: Int64, _ now: Duration) {
        guard let item = active[id], item.isEnding else { return }
        active[id] = nil
        busySince = now
        if item.goesFirst, let again = item.returns {
            // Those who wait for its end go on doing so.
            return insertFirst([again])
        }
        removeFromWaits(id)
        if let again = item.returns { queue.append(again) }
    }

    /// When it becomes active again, it is one more overtaker, and not what others have waited for since before.
    private mutating func removeFromWaits(_ id: Int64) {
        for index in queue.indices { queue[index].behind?.remove(id) }
    }

    /// After everything has stopped: items that never reported wait again, and those that were to be cancelled are.
    package mutating func abandon(cancelled: Set<String>) -> [Action] {
        var actions = active.values.filter { !$0.isEnding }.map { Action.settle($0.item.id, .interrupted) }
        active = [:]
        let left = cancelled.isEmpty ? [] : waiting.filter { cancelled.contains($0.name) }
        actions += left.map { .settle($0.id, .cancelled) }
        return actions
    }
}
