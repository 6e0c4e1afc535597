import Foundation
import NocturneJournal
import NocturneSystem
import Synchronization

/// Notices an item that makes no progress (a read from a share that is gone, a decoder that never ends), and one that takes
/// longer than an item may. What that means, ``StallStateMachine`` decides.
///
/// A separate thread counts, so that it works when all others are stuck. It counts its own wakings and not the clock:
/// time in which the whole process was stopped or the machine asleep is nobody's stall.
final class StallDetector: Sendable {
    typealias Stuck = StallStateMachine.Stuck

    private struct State {
        var machine: StallStateMachine
        var flags: [Int64: CancellationFlag] = [:]
        var isOver = false
    }

    private let isPaused: @Sendable () -> Bool
    private let action: @Sendable ([Stuck]) -> Void
    // Not an actor: it has to work when tasks no longer get a thread.
    private let state: Mutex<State>

    /// - Parameters:
    ///   - limit: seconds without progress after which `action` is called; nil for no such limit.
    ///   - itemLimit: seconds at work, in all stages together, after which an item is stopped and fails; when it does not
    ///     stop within ten seconds more, `action` is called. Nil for no such limit.
    ///   - isPaused: whether items are made to wait, in a pause or for want of memory.
    init(
        limit: Int?,
        itemLimit: Int? = nil,
        isPaused: @escaping @Sendable () -> Bool,
        action: @escaping @Sendable ([Stuck]) -> Void
    ) {
        state = Mutex(State(machine: StallStateMachine(limit: limit, itemLimit: itemLimit)))
        self.isPaused = isPaused
        self.action = action
    }

    /// An item enters a stage.
    func enter(_ item: ActiveItem, _ stage: Stage) {
        state.withLock { state in
            state.machine.enter(item.id, name: item.item.name, onlyInput: item.onlyInput, stage: stage)
            state.flags[item.id] = item.flag
        }
    }

    /// Work that belongs to no item begins.
    func enter(_ id: Int64, named name: String, _ stage: Stage) {
        state.withLock { $0.machine.enter(id, name: name, onlyInput: nil, stage: stage) }
    }

    /// It made progress.
    func moved(_ id: Int64) { state.withLock { $0.machine.moved(id) } }

    /// It left its stage.
    func leave(_ id: Int64) { state.withLock { $0.machine.leave(id) } }

    /// It has ended.
    /// - Returns: why it was stopped, if it took longer than an item may.
    func forget(_ id: Int64) -> ItemReason? {
        state.withLock { state in
            state.flags[id] = nil
            return state.machine.forget(id)
        }
    }

    /// Counts until ``stop()``.
    func start() {
        let thread = Thread { [self] in
            while !state.withLock({ $0.isOver }) {
                Thread.sleep(forTimeInterval: 1)
                tick()
            }
        }
        thread.name = "nocturne.stalls"
        thread.start()
    }

    func stop() { state.withLock { $0.isOver = true } }

    /// One second more: stops items that have had their time, and acts on those that cannot be helped.
    func tick() {
        let isPaused = isPaused()
        let stuck = state.withLock { state -> [Stuck] in
            let action = state.machine.tick(isPaused: isPaused)
            for id in action.stop { state.flags[id]?.cancel() }
            return action.stuck
        }
        if !stuck.isEmpty { action(stuck) }
    }
}

extension StallPolicy {
    /// Acts on work that is stuck, naming every reason once.
    func act(on stuck: [StallDetector.Stuck]) { action(stuck.map(\.reason.text).sorted().joined(separator: "; ")) }
}
