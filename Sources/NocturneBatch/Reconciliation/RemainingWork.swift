package import NocturneJournal
package import NocturneOutput
import NocturneReport
import NocturneSystem

/// What a run does about one item of a batch.
package enum RemainingWork: String, Codable, Sendable, CaseIterable {
    /// Nothing: it has its result.
    case completed
    /// It is processed: it is new, or the run before did not reach or finish it.
    case pending
    /// It is processed again, with inference: its source, its model or an option has changed, or files are missing.
    case `repeat`
    /// Its result is made again without inference: from its label map, or by a recipe that has no inference.
    case remake
    /// Its result is copied from another batch.
    case reuse
    /// It is tried again: it failed, was cancelled or quarantined before.
    case retry
    /// Nothing: it failed before, or is damaged or unsuitable.
    case failed
    /// Nothing: it was cancelled before.
    case cancelled
    /// Nothing: the engine crashed twice while it was active.
    case quarantined
    /// Nothing: it is not an input for its model.
    case skipped

    /// Whether the item is processed.
    package var isWork: Bool {
        switch self {
        case .pending, .repeat, .remake, .reuse, .retry: true
        case .completed, .failed, .cancelled, .quarantined, .skipped: false
        }
    }

    /// Whether networks run for it, where its recipe has any.
    package var needsInference: Bool { isWork && self != .remake && self != .reuse }

    /// For an item of a batch that does not exist yet.
    package init(new decision: WorkPlanner.Decision) {
        self = decision.work ? .pending : RemainingWork(withoutWork: decision.state)
    }

    fileprivate init(withoutWork state: ItemState) {
        self =
            switch state {
            case .completed, .pending, .started: .completed
            case .failed: .failed
            case .skipped: .skipped
            case .cancelled: .cancelled
            case .quarantined: .quarantined
            }
    }
}

/// A batch as a plan works on it: a copy of its journal, in which nothing is kept, and its output folder.
///
/// It is read without a lock, and nothing is written to the folder: a run may be active.
package struct PlannedBatch: Sendable {
    /// Only read.
    package let output: OutputFolder
    /// Empty where the folder holds no batch.
    package let journal: Journal
    /// What the batch was started with; nil where the folder holds no batch.
    package let description: BatchDescription?
    /// Digests of the keys of items that were removed from the batch.
    package let removed: [String]

    /// - Throws: ``BatchError`` for a batch of another user, and for a divided batch, whose shards have their own journals; `JournalError`.
    package static func read(_ output: OutputFolder) async throws -> PlannedBatch {
        try output.checkIsUsable()
        guard output.holdsBatch else {
            return PlannedBatch(output: output, journal: try await .temporary(), description: nil, removed: [])
        }
        let journal = try await Journal.copy(of: output.journal)
        if output.shard == nil, let plan = try await journal.value(of: .shardPlan) {
            throw BatchError.divided(output, into: plan.shards.count)
        }
        return PlannedBatch(
            output: output,
            journal: journal,
            description: try await journal.value(of: .batchDescription),
            removed: try await journal.value(of: .removedItems) ?? []
        )
    }

    /// What a run does about an item.
    /// - Complexity: reads the `result.json` of an item that is to be processed and has a result.
    package func remainingWork(
        _ before: JournalItem?,
        _ decision: WorkPlanner.Decision,
        _ recipe: any Recipe
    ) -> RemainingWork {
        let name = decision.name
        guard decision.work else { return RemainingWork(withoutWork: decision.state) }
        let hasResult = output.holdsResult(name)
        // Renamed into place, but not recorded before the run ended: the next one recognizes it.
        let fingerprint = decision.item.fingerprint.hex
        if hasResult, (try? recipe.recognize(folder: output.item(name), fingerprint: fingerprint)) != nil {
            return .completed
        }
        if let before, [.failed, .cancelled, .quarantined].contains(before.state) { return .retry }
        if hasResult, decision.edit != nil || recipe.keepsInference(source: decision.item.source, of: output.item(name))
        {
            return .remake
        }
        return before?.state == .completed ? .repeat : .pending
    }

    /// Seconds that the stages of an item took, without inference, when its result was made; nil where there is none.
    package func secondsWithoutInference(of name: String) -> Double? {
        ResultFolder(output.item(name)).stageSeconds().map { seconds in
            seconds.reduce(0) { $0 + ($1.key == Stage.infer.rawValue ? 0 : $1.value) }
        }
    }

    /// The mean of ``secondsWithoutInference(of:)`` over some completed items; nil when there are none. To be asked before
    /// items are planned.
    package func meanSecondsWithoutInference() async throws -> Double? {
        let count = try await journal.stateCounts()[.completed] ?? 0
        // About 32 results, spread evenly over the batch: reading all would take longer than the estimate is worth.
        let step = max(count / Self.sampleCount, 1)
        var (seconds, place): ([Double], Int) = ([], 0)
        try journal.found.forEachCompleted { name in
            if place.isMultiple(of: step), let own = secondsWithoutInference(of: name) { seconds.append(own) }
            place += 1
        }
        return seconds.isEmpty ? nil : seconds.reduce(0, +) / Double(seconds.count)
    }

    private static var sampleCount: Int { 32 }
}
