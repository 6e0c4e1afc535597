import Foundation
import NocturneJournal
package import NocturneSystem

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
        case .pending, .repeat, .remake, .retry: true
        case .completed, .failed, .cancelled, .quarantined, .skipped: false
        }
    }

    /// Whether networks run for it, where its recipe has any.
    package var needsInference: Bool { isWork && self != .remake }

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

extension RecordedItems {
    /// What a run does about an item.
    /// - Complexity: reads the `result.json` of an item that is to be processed and has a result.
    package func remainingWork(_ decision: WorkPlanner.Decision, _ recipe: any Recipe) -> RemainingWork {
        let name = decision.name
        guard decision.work else { return RemainingWork(withoutWork: decision.state) }
        let hasResult = output.holdsResult(name)
        // Renamed into place, but not recorded before the run ended: the next one recognizes it.
        let fingerprint = decision.item.fingerprint.hex
        if hasResult, (try? recipe.recognize(folder: output.item(name), fingerprint: fingerprint)) != nil {
            return .completed
        }
        let before = items[decision.item.key]?.state
        if let before, [.failed, .cancelled, .quarantined].contains(before) { return .retry }
        if hasResult, decision.edit != nil || recipe.keepsInference(source: decision.item.source, of: output.item(name))
        {
            return .remake
        }
        return before == .completed ? .repeat : .pending
    }

    /// Seconds that the stages of an item took, without inference, when its result was made; nil where there is none.
    package func secondsWithoutInference(of name: String) -> Double? {
        struct Report: Decodable { let seconds: [String: Double] }
        guard let bytes = try? FileSystem.read(output.item(name) + "/run.json"),
            let report = try? JSONDecoder().decode(Report.self, from: Data(bytes))
        else { return nil }
        return report.seconds.reduce(0) { $0 + ($1.key == Stage.infer.rawValue ? 0 : $1.value) }
    }

    /// The mean of ``secondsWithoutInference(of:)`` over some completed items; nil when there are none.
    package func meanSecondsWithoutInference() -> Double? {
        let completed = items.all.lazy.filter { $0.state == .completed }
        let step = max(completed.reduce(0) { count, _ in count + 1 } / Self.sampleCount, 1)
        let seconds = completed.enumerated().lazy.filter { $0.offset.isMultiple(of: step) }.compactMap {
            secondsWithoutInference(of: $0.element.name)
        }
        return seconds.isEmpty ? nil : seconds.reduce(0, +) / Double(seconds.count)
    }

    private static var sampleCount: Int { 32 }

    /// How many items of the batch have not ended and were not found: changed options or inputs leave them out.
    package func vanished(_ found: FileBackedList<WorkPlanner.Decision>) -> Int {
        let keys = Set(found.lazy.map { TextHash.of($0.item.key) })
        return items.all.count {
            ![.completed, .skipped].contains($0.state) && !keys.contains(TextHash.of($0.key))
        }
    }
}
