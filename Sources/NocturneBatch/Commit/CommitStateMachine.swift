/// What the committer does next, without files, locks or tasks.
///
/// Items that wait are committed together, in the steps of ``Step``: one flush of the disk and one transaction of the
/// journal for all of them. When a step fails, the error may be one item's alone: each item of the group is tried again by
/// itself, so that the others get through. What is in its place by then stays there.
///
/// Invariants, checked by the tests: an item is recorded only after its files were flushed, its folder was put in its place
/// and the output folder was flushed; every item ends once.
package struct CommitStateMachine<ID: Hashable & Sendable>: Hashable, Sendable {
    /// The steps of a commit, in order.
    package enum Step: Hashable, Sendable, CaseIterable {
        /// The staged files reach the disk.
        case flush
        /// Each folder is renamed into its place.
        case place
        /// The renames reach the disk.
        case flushParent
        /// The journal has the items as completed, durably.
        case record
        /// What is left in staging is removed.
        case cleanUp
    }

    /// What the caller does now, before it answers.
    package enum Action: Hashable, Sendable {
        /// There is nothing to do.
        case wait
        case flush([ID])
        case place(ID)
        case flushParent
        case record([ID])
        case cleanUp([ID])
    }

    private let steps: [Step]
    private var waiting: [ID] = []
    private var group: [ID] = []
    private var position = 0
    /// Of groups that failed: still to be tried, each alone.
    private var single: [ID] = []
    /// Items whose folders are in their places, until they end: putting one there again would bring back what it
    /// replaced.
    private var placed: Set<ID> = []

    /// - Parameter steps: another order only for tests that show what it would break.
    package init(steps: [Step] = Step.allCases) { self.steps = steps }

    /// Whether nothing waits and nothing is under way.
    package var isIdle: Bool { waiting.isEmpty && group.isEmpty && single.isEmpty }

    /// An item is written and waits for its commit.
    package mutating func add(_ id: ID) { waiting.append(id) }

    /// The action to perform now. Followed by ``succeeded()`` or ``failed()`` unless there is nothing to do.
    package mutating func next() -> Action {
        if group.isEmpty { begin() }
        while !group.isEmpty {
            if let action = action(of: steps[position]) { return action }
            position += 1
        }
        return .wait
    }

    /// The action was performed.
    /// - Returns: the items that have ended with it, completed.
    package mutating func succeeded() -> [ID] {
        if steps[position] == .place, let id = unplaced.first {
            placed.insert(id)
            // The next folder, if there is one: the step is done when none is left.
            guard unplaced.isEmpty else { return [] }
        }
        position += 1
        guard position == steps.count else { return [] }
        return end()
    }

    /// The action could not be performed.
    /// - Returns: the items that have ended with it, failed.
    package mutating func failed() -> [ID] {
        // The error of a single item is its own. That of a group may be one item's: each is tried by itself.
        if group.count == 1 { return end() }
        single += group
        group = []
        return []
    }

    private var unplaced: [ID] { group.filter { !placed.contains($0) } }

    private mutating func begin() {
        position = 0
        if single.isEmpty {
            group = waiting
            waiting = []
        } else {
            group = [single.removeFirst()]
        }
    }

    /// Nil when the step has nothing to do.
    private func action(of step: Step) -> Action? {
        switch step {
        case .flush: unplaced.isEmpty ? nil : .flush(unplaced)
        case .place: unplaced.first.map { .place($0) }
        case .flushParent: .flushParent
        case .record: .record(group)
        case .cleanUp: .cleanUp(group)
        }
    }

    private mutating func end() -> [ID] {
        defer { group = [] }
        placed.subtract(group)
        return group
    }
}
