import Foundation
import Synchronization

/// Notices an item that makes no progress: a read from a share that is gone, a decoder that never ends.
///
/// A thread of its own counts, so that it works when all others are stuck. It counts its own wakings and not the clock:
/// time in which the whole process was stopped or the machine asleep is nobody's stall.
final class StallWatch: Sendable {
    private struct Entry {
        let name: String
        var stage: Stage
        var idleSeconds = 0
    }

    private struct State {
        var entries: [Int64: Entry] = [:]
        var isOver = false
    }

    private let limit: Int
    private let isPaused: @Sendable () -> Bool
    private let action: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: seconds without progress after which `action` is called with what there is to say.
    ///   - isPaused: whether items are made to wait, for want of memory.
    init(limit: Int, isPaused: @escaping @Sendable () -> Bool, action: @escaping @Sendable (String) -> Void) {
        self.limit = limit
        self.isPaused = isPaused
        self.action = action
    }

    func enter(_ id: Int64, _ name: String, _ stage: Stage) {
        state.withLock { $0.entries[id] = Entry(name: name, stage: stage) }
    }

    func moved(_ id: Int64) { state.withLock { $0.entries[id]?.idleSeconds = 0 } }

    func leave(_ id: Int64) { state.withLock { _ = $0.entries.removeValue(forKey: id) } }

    /// Counts until ``stop()``.
    func start() {
        let thread = Thread { [self] in
            while !state.withLock({ $0.isOver }) {
                Thread.sleep(forTimeInterval: 1)
                if let words = tick() { action(words) }
            }
        }
        thread.name = "nocturne.stalls"
        thread.start()
    }

    func stop() { state.withLock { $0.isOver = true } }

    /// One second more. What there is to say when an item has just come to the limit.
    func tick() -> String? {
        if isPaused() {
            state.withLock { state in for id in state.entries.keys { state.entries[id]?.idleSeconds = 0 } }
            return nil
        }
        return state.withLock { state -> String? in
            for id in state.entries.keys { state.entries[id]?.idleSeconds += 1 }
            guard let stalled = state.entries.values.first(where: { $0.idleSeconds == limit }) else { return nil }
            return "\(stalled.name) has made no progress for \(limit) s (stage \(stalled.stage.rawValue))"
        }
    }
}
