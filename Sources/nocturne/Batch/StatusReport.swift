import NocturneBatch
import NocturneCluster
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneRecipes
import NocturneReport
import NocturneSystem

/// What `status` prints.
struct StatusReport: Encodable {
    let disclaimer = Disclaimer.text
    let output: String
    /// The process that has locked the batch, by its number on its machine; null without one.
    @Nullable var runningProcess: Int?
    /// What the run as a whole waits for, such as free disk space; null when it does not wait.
    @Nullable var waitingFor: String?
    /// The pause of the run, or that with which the next one begins; null without one. Of divided batches see the shards' folders.
    @Nullable var pause: PauseState?
    /// Null before the first verification without a fault.
    @Nullable var verified: Verified?
    let counts: BatchCounts
    /// How many results were taken from other batches.
    let reused: Int
    /// Completed items without an output that was asked for, as the last report counted them; null where there is none.
    @Nullable var incomplete: Incomplete?
    /// The names of items that are being processed, also on shards.
    let inFlight: [String]
    /// Items that failed, were cancelled or quarantined, in order of discovery.
    let failures: [ItemOutcome]
    /// How many results reviewers have marked so, as a whole.
    let verdicts: [String: Int]
    /// How many of the marked results and objects of each model passed.
    let reviewed: [Reviewed]
    /// Items with values that are unusual in the batch, the most unusual first; empty while a run is active.
    let unusual: [String]
    /// Detected instances in photos, one entry each; active photos and failed photos have one entry as a whole.
    let parts: [Part]

    /// What the active run does; null without one, and in its first seconds. Of divided batches see the shards.
    @Nullable var progress: RunProgress?
    /// Of a batch that is divided; null for others.
    @Nullable var shards: [Shard]? = nil

    struct Shard: Codable, Sendable {
        let number: Int
        let state: DividedBatch.Shard.State
        /// Of the active run; null where none is active.
        @Nullable var host: String?
        let items: Int
        /// Items that have ended.
        let ended: Int
        let failed: Int
        /// Predicted for the whole shard.
        let seconds: Double
        /// Starts of its tasks by Slurm; 0 elsewhere.
        let starts: Int
        /// Starts again after the task's time limit.
        let timeLimits: Int
        /// Starts again by Slurm: the task was preempted, or its machine failed.
        let preemptions: Int
        /// What the active run does; null without one.
        @Nullable var progress: RunProgress?
        private var startsText: String?

        private enum CodingKeys: String, CodingKey {
            case number, state, host, items, ended, failed, seconds, starts, timeLimits, preemptions
            case progress
        }

        /// Why it was started more than once; nil where it was not.
        var startsRemark: String { startsText.map { "; \($0)" } ?? "" }

        init(_ shard: DividedBatch.Shard) {
            number = shard.plan.number
            state = shard.state
            host = shard.host
            // All items of the shard; those that have ended are the ones that were reached.
            items = shard.counts.inputs
            ended = shard.counts.inputs - shard.counts.notReached
            failed = shard.counts.failed + shard.counts.quarantined
            seconds = shard.plan.seconds
            starts = shard.starts.starts
            timeLimits = shard.starts.timeLimits
            preemptions = shard.starts.preemptions
            progress = shard.progress
            startsText = shard.starts.text
        }
    }

    /// What reviewers think of a model. What has several marks passed when all of them are.
    struct Reviewed: Encodable {
        let model: String
        /// Marked as a whole.
        let results: Int
        let resultsPassed: Int
        /// Marked by themselves.
        let objects: Int
        let objectsPassed: Int

        init(model: String, _ marks: [ReviewMark]) {
            func count(_ marks: [ReviewMark]) -> (all: Int, passed: Int) {
                // Several people may mark the same result or object.
                let marked = Dictionary(grouping: marks) { [$0.item, $0.object ?? ""] }
                return (marked.count, marked.values.count { $0.allSatisfy { $0.verdict == .pass } })
            }
            self.model = model
            (results, resultsPassed) = count(marks.filter { $0.object == nil })
            (objects, objectsPassed) = count(marks.filter { $0.object != nil })
        }

        /// "3 of 4 results and 20 of 22 objects passed".
        var text: String {
            let parts = [
                results == 0 ? nil : "\(resultsPassed) of \(results) marked results",
                objects == 0 ? nil : "\(objectsPassed) of \(objects) marked objects",
            ]
            return "\(model): " + parts.compactMap(\.self).joined(separator: " and ") + " passed"
        }
    }

    struct Incomplete: Codable, Sendable {
        let items: Int
        /// Which output could not be made, of the first item.
        let example: String

        init?(_ remarks: ReportRemarks) {
            guard let text = SummaryText.missingOutputs(remarks) else { return nil }
            (items, example) = (remarks.incomplete, text)
        }
    }

    struct PauseState: Codable, Sendable {
        /// UTC.
        let since: String
        /// When it ends by itself, UTC; null for never.
        @Nullable var until: String?
        /// Whether active items were put back.
        let releasesMemory: Bool
        /// Whether it is a pilot's wait for approval.
        let awaitsApproval: Bool
    }

    struct Verified: Codable, Sendable {
        /// In how many parts the batch is verified.
        let parts: Int
        /// Parts that were never verified.
        let missing: [Int]
        /// When the part was verified that has not been for the longest time, UTC; null as long as parts are missing.
        @Nullable var oldest: String?
    }

    struct Part: Encodable {
        let item: String
        /// Null for a photo as a whole: its instances are not known yet, it failed, or it has none.
        @Nullable var id: Int? = nil
        @Nullable var kind: String? = nil
        /// processing, enriching, ready or failed.
        let state: String
        /// Path relative to the output folder; null unless it was written.
        @Nullable var thumbnail: String? = nil
        @Nullable var reason: String?
        /// What `nocturne review titles` has taken over, by the name of the field.
        let texts: [String: String]
        /// When the item's state last changed, UTC; null while it is active.
        @Nullable var changed: String?
    }

    /// - Parameters:
    ///   - newestFirst: the order of ``parts``.
    ///   - isActive: whether a run is active, on any shard.
    init(
        _ folder: OutputFolder,
        _ state: BatchLock.State,
        _ contents: ExistingBatch.Contents,
        _ review: (marks: [ReviewMark], unusual: [String]),
        newestFirst: Bool,
        isActive: Bool
    ) {
        let items = contents.items
        progress = folder.runProgress(of: state.holder)
        output = folder.path
        runningProcess = (state.holder?.process.process).map(Int.init)
        waitingFor = state.holder?.waitingFor
        pause = contents.pause.flatMap(PauseState.init)
        verified = contents.verified.map(Verified.init)
        counts = contents.counts
        reused = items.count(where: \.isReused)
        incomplete = contents.remarks.flatMap(Incomplete.init)
        // Without a run, items are `started` only because their run was interrupted.
        inFlight = isActive ? items.filter { $0.state == .started }.map(\.name) : []
        failures = items.filter { [.failed, .quarantined, .cancelled].contains($0.state) }
            .map { ItemOutcome($0, in: folder) }
        // Verdicts on objects are not counted here; an item that several people marked alike counts once.
        let wholes = Dictionary(grouping: review.marks.filter { $0.object == nil }, by: \.verdict.rawValue)
        verdicts = wholes.mapValues { Set($0.map(\.item)).count }
        // Marks know the item only.
        let models = Dictionary(items.map { ($0.name, $0.model) }) { first, _ in first }
        reviewed = Dictionary(grouping: review.marks) { models[$0.item] ?? "" }
            .map { Reviewed(model: $0.key, $0.value) }.sorted { $0.model < $1.model }
        unusual = review.unusual
        parts = StatusReport.queue(items, newestFirst: newestFirst, isActive: isActive).flatMap {
            StatusReport.entries(of: $0, contents.parts[$0.id] ?? [], isActive: isActive)
        }
    }

    /// Items in order of discovery, or the newest first.
    private static func queue(
        _ items: [JournalItem],
        newestFirst: Bool,
        isActive: Bool
    ) -> any Sequence<JournalItem> {
        guard newestFirst else { return items }
        // Items in progress count as the newest; they have no recorded time.
        func moment(_ item: JournalItem) -> String {
            isActive && item.state == .started ? "\u{10FFFF}" : item.changed ?? ""
        }
        return items.sorted { (moment($0), $1.id) > (moment($1), $0.id) }
    }

    /// The entries of the review queue for an item.
    private static func entries(of item: JournalItem, _ parts: [ItemPart], isActive: Bool) -> [Part] {
        func whole(_ state: ItemPart.State) -> [Part] {
            guard RecipeRegistry.all.isReviewEntry(item) else { return [] }
            return [
                Part(
                    item: item.name,
                    state: state.rawValue,
                    reason: state == .failed ? item.reason?.text : nil,
                    texts: [:],
                    changed: state == .processing ? nil : item.changed
                )
            ]
        }
        switch item.state {
        case .started: return isActive ? whole(.processing) : []
        case .failed, .quarantined, .cancelled: return whole(.failed)
        case .pending, .skipped: return []
        case .completed:
            // A photo without detected instances is reviewed, too.
            guard !parts.isEmpty else { return whole(.ready) }
            return parts.map { part in
                Part(
                    item: item.name,
                    id: part.id,
                    kind: part.kind,
                    state: part.state.rawValue,
                    thumbnail: part.thumbnail.map { "\(item.name)/\($0)" },
                    reason: part.reason,
                    texts: Dictionary((part.texts ?? []).map { ($0.name, $0.value) }) { $1 },
                    changed: item.changed
                )
            }
        }
    }
}

/// The state of a batch at one moment, whole or divided, as `status` shows it.
struct BatchState {
    let lock: BatchLock.State
    let report: StatusReport
    let items: [JournalItem]
    /// Whether a run is active, on any shard.
    let isActive: Bool

    /// What was skipped, by its reasons, and what can be done about it.
    var skipLines: [String] {
        var (reasons, codes): ([String: FirstNames], [String: Int]) = ([:], [:])
        for item in items where item.state == .skipped {
            reasons[item.reason?.text ?? "", default: FirstNames()].add(item.name)
            if let code = item.reason?.code.rawValue { codes[code, default: 0] += 1 }
        }
        return StartText.skips(reasons) + SummaryText.advice(codes, OutputFolder(report.output))
    }

    /// - Throws: `BatchError` for a folder without a batch; `JournalError`.
    static func read(_ folder: OutputFolder, newestFirst: Bool = false) async throws -> BatchState {
        // Before the journal: a run that ends in between then counts as active, and its items as they are at its end.
        let lock = BatchLock.state(of: folder)
        let divided = try await DividedBatch.read(folder)
        let contents = try await ExistingBatch.contents(of: folder, divided)
        let isActive = lock.isHeld || divided?.shards.contains { $0.state == .running } ?? false
        // While shards are open, the journal of the batch lacks what they have done.
        let review = try await ExistingBatch.review(of: folder, contents.items, isActive: isActive || divided != nil)
        var report = StatusReport(folder, lock, contents, review, newestFirst: newestFirst, isActive: isActive)
        report.shards = divided?.shards.map(StatusReport.Shard.init)
        return BatchState(lock: lock, report: report, items: contents.items, isActive: isActive)
    }
}
