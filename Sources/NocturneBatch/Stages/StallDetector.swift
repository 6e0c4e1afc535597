import Foundation
import NocturneCore
import NocturneSystem
import Synchronization

/// Notices an item that makes no progress (a read from a share that is gone, a decoder that never ends), and one that takes
/// longer than an item may.
///
/// A thread of its own counts, so that it works when all others are stuck. It counts its own wakings and not the clock:
/// time in which the whole process was stopped or the machine asleep is nobody's stall.
final class StallDetector: Sendable {
    /// An item that nothing can be done about any more but to end the process.
    struct Stuck: Sendable {
        let id: Int64
        let words: String
        /// Whether it had its time, and failed with that; otherwise it gets another attempt, alone.
        let isLate: Bool
        /// The file whose reading does not end; nil when it is not known, or when it is not reading that hangs.
        let path: String?
    }

    private struct Entry {
        let item: ActiveItem
        /// Nil between two stages: waiting is not the item's time.
        var stage: Stage?
        var idleSeconds = 0
        var usedSeconds = 0
    }

    private struct State {
        var entries: [Int64: Entry] = [:]
        var isOver = false
    }

    /// Seconds that a late item has to notice that it was told to stop.
    private var grace: Int { min(10, itemLimit ?? 0) }

    private let limit: Int?
    private let itemLimit: Int?
    private let isPaused: @Sendable () -> Bool
    private let action: @Sendable ([Stuck]) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: seconds without progress after which `action` is called; nil for no such limit.
    ///   - itemLimit: seconds at work, in all stages together, after which an item is stopped and fails; when it does not
    ///     stop within ten seconds more, `action` is called. Nil for no such limit.
    ///   - isPaused: whether items are made to wait, for want of memory.
    init(
        limit: Int?,
        itemLimit: Int? = nil,
        isPaused: @escaping @Sendable () -> Bool,
        action: @escaping @Sendable ([Stuck]) -> Void
    ) {
        self.limit = limit
        self.itemLimit = itemLimit
        self.isPaused = isPaused
        self.action = action
    }

    func enter(_ item: ActiveItem, _ stage: Stage) {
        state.withLock { state in
            state.entries[item.id, default: Entry(item: item)].stage = stage
            state.entries[item.id]?.idleSeconds = 0
        }
    }

    func moved(_ id: Int64) { state.withLock { $0.entries[id]?.idleSeconds = 0 } }

    func leave(_ id: Int64) { state.withLock { $0.entries[id]?.stage = nil } }

    /// The item's way has ended.
    func forget(_ id: Int64) { state.withLock { _ = $0.entries.removeValue(forKey: id) } }

    /// Counts until ``stop()``.
    func start() {
        let thread = Thread { [self] in
            while !state.withLock({ $0.isOver }) {
                Thread.sleep(forTimeInterval: 1)
                let stuck = tick()
                if !stuck.isEmpty { action(stuck) }
            }
        }
        thread.name = "nocturne.stalls"
        thread.start()
    }

    func stop() { state.withLock { $0.isOver = true } }

    /// One second more: stops items that have had their time.
    /// - Returns: the items that cannot be helped, once one has just come to that.
    func tick() -> [Stuck] {
        if isPaused() {
            state.withLock { state in for id in state.entries.keys { state.entries[id]?.idleSeconds = 0 } }
            return []
        }
        return state.withLock { state -> [Stuck] in
            var isTime = false
            for (id, entry) in state.entries {
                guard let stage = entry.stage else { continue }
                let used = entry.usedSeconds + 1
                let idle = entry.idleSeconds + 1
                state.entries[id]?.usedSeconds = used
                state.entries[id]?.idleSeconds = idle
                if let itemLimit, used == itemLimit { entry.item.stopLate(after: itemLimit, in: stage) }
                let isOverdue = itemLimit.map { entry.item.timeoutReason != nil && used == $0 + grace } ?? false
                isTime = isTime || isOverdue || idle == limit
            }
            return isTime ? state.entries.values.compactMap(stuck) : []
        }
    }

    /// What is to be said of an item when the process is ended: of those that have had their time, and those that have not
    /// moved for half of it, since what hangs in one share hangs together.
    private func stuck(_ entry: Entry) -> Stuck? {
        guard let stage = entry.stage else { return nil }
        let path = stage == .load ? entry.item.onlyInput : nil
        if let words = entry.item.timeoutReason {
            return Stuck(id: entry.item.id, words: words, isLate: true, path: path)
        }
        guard let limit, 2 * entry.idleSeconds >= limit else { return nil }
        let words = "\(entry.item.item.name) has made no progress for \(entry.idleSeconds) s (stage \(stage.rawValue))"
        return Stuck(id: entry.item.id, words: words, isLate: false, path: path)
    }
}
