package import NocturneJournal
import NocturneOutput
import NocturneSystem

/// Which items make no progress or take too long, without clocks or threads: it counts the ticks that it is given, one a
/// second.
package struct StallStateMachine: Sendable {
    /// An item about which nothing can be done except to end the process.
    package struct Stuck: Sendable, Hashable {
        /// Of the item in the journal.
        package let id: Int64
        /// What is recorded of it.
        package let reason: ItemReason
        /// Whether it had its time, and failed with that; otherwise it gets another attempt, alone.
        package let isLate: Bool
        /// The file whose reading does not end; nil when it is not known, or when it is not reading that hangs.
        package let path: String?
    }

    /// What follows from a tick.
    package struct TickAction: Sendable, Hashable {
        /// Items to be stopped: they have had their time.
        package var stop: Set<Int64> = []
        /// Items that cannot be helped, once one has just come to that.
        package var stuck: [Stuck] = []

        /// Nothing follows.
        package init() {}
    }

    private struct Item {
        let name: String
        let onlyInput: String?
        /// Nil between two stages: waiting is not the item's time.
        var stage: Stage?
        var idleSeconds = 0
        var usedSeconds = 0
        /// Why it was stopped, once it took longer than an item may.
        var timeout: ItemReason?
    }

    private let limit: Int?
    private let itemLimit: Int?
    private var items: [Int64: Item] = [:]

    /// - Parameters:
    ///   - limit: seconds without progress after which an item is stuck; nil for no such limit.
    ///   - itemLimit: seconds at work, in all stages together, after which an item is stopped; when it does not stop within
    ///     ten seconds more, it is stuck. Nil for no such limit.
    package init(limit: Int?, itemLimit: Int?) {
        self.limit = limit
        self.itemLimit = itemLimit
    }

    /// Seconds that a late item has to notice that it was stopped.
    private var grace: Int { min(10, itemLimit ?? 0) }

    /// An item enters a stage.
    /// - Parameter onlyInput: its file, when there is but one.
    package mutating func enter(_ id: Int64, name: String, onlyInput: String?, stage: Stage) {
        items[id, default: Item(name: name, onlyInput: onlyInput)].stage = stage
        items[id]?.idleSeconds = 0
    }

    /// It made progress.
    package mutating func moved(_ id: Int64) { items[id]?.idleSeconds = 0 }

    /// It left its stage.
    package mutating func leave(_ id: Int64) { items[id]?.stage = nil }

    /// It has ended.
    /// - Returns: why it was stopped, if it took longer than an item may.
    package mutating func forget(_ id: Int64) -> ItemReason? { items.removeValue(forKey: id)?.timeout }

    /// One second more.
    /// - Parameter isPaused: whether items are made to wait, in a pause or for want of memory; that second is nobody's.
    package mutating func tick(isPaused: Bool) -> TickAction {
        var action = TickAction()
        guard !isPaused else {
            for id in items.keys { items[id]?.idleSeconds = 0 }
            return action
        }
        var isTime = false
        for (id, var item) in items {
            guard let stage = item.stage else { continue }
            item.usedSeconds += 1
            item.idleSeconds += 1
            // Equal and not above: an item is stopped once.
            if let itemLimit, item.usedSeconds == itemLimit {
                let limit = EventText.duration(Double(itemLimit))
                let text: Sentence =
                    "took longer than the \(own: limit) that an item may take (stage \(own: stage.rawValue))"
                item.timeout = ItemReason(.timeLimit, text, stage: stage.rawValue)
                action.stop.insert(id)
            }
            // Once for each item; `stuck` then lists all that hang, since ending the process ends all of them.
            let isOverdue = itemLimit.map { item.timeout != nil && item.usedSeconds == $0 + grace } ?? false
            isTime = isTime || isOverdue || item.idleSeconds == limit
            items[id] = item
        }
        if isTime { action.stuck = items.keys.sorted().compactMap(stuck) }
        return action
    }

    /// Those that have had their time, and those that have not moved for half of the limit, since what hangs in one share
    /// hangs together.
    private func stuck(_ id: Int64) -> Stuck? {
        guard let item = items[id], let stage = item.stage else { return nil }
        let path = stage == .load ? item.onlyInput : nil
        if let timeout = item.timeout { return Stuck(id: id, reason: timeout, isLate: true, path: path) }
        guard let limit, 2 * item.idleSeconds >= limit else { return nil }
        let text: Sentence =
            "\(own: item.name) has made no progress for \(item.idleSeconds) s (stage \(own: stage.rawValue))"
        let reason = ItemReason(.unresponsive, text, stage: stage.rawValue)
        return Stuck(id: id, reason: reason, isLate: false, path: path)
    }
}
