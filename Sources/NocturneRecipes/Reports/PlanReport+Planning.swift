import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem

extension PlanReport {
    /// What was planned, but for the rows of the items.
    struct Planned {
        /// How many items are in each state.
        var states = Dictionary(uniqueKeysWithValues: RemainingWork.allCases.map { ($0.rawValue, 0) })
        /// The indices of the recipes that have items with inference left.
        var needsInference: Set<Int> = []
        /// Remarks about items.
        var notes: [String] = []
        /// The names of items whose edited labels no longer apply.
        var lostEdits: [String] = []
        /// The names of items whose objects have texts of an earlier result only.
        var lostTexts: [String] = []
    }

    /// Plans each item that was found.
    struct Planning {
        let recipes: [any Recipe]
        let journal: Journal
        let existing: PlanReport.Existing?
        let reusable: ReusableResults?
        let threads: Int
        /// Bytes left for items by the engine.
        let available: Int
        /// Whether files of results are memory.
        let filesInMemory: Bool

        func run(_ description: BatchDescription) async throws -> Planned {
            let mean = try await existing?.batch.meanSecondsWithoutInference()
            let planner = WorkPlanner(
                retries: existing?.retries ?? .none,
                identifiers: description.identifiers,
                inputs: description.inputs
            )
            let texts = try await journal.texts().reduce(into: [:]) { $0[$1.item] = $1.fingerprint }
            let reconciler = Reconciler(journal, existing?.batch.output, recipes, planner)
            var planned = Planned()
            // Portion by portion, so that a million items need no more memory than some hundred.
            try await reconciler.forEachPortion { decided in
                var (rows, actions): ([PlannedRow], [CandidateAction]) = ([], [])
                for (candidate, decision) in decided {
                    let state = await remainingWork(candidate, decision)
                    planned.states[state.rawValue, default: 0] += 1
                    if state.needsInference { planned.needsInference.insert(decision.item.recipe) }
                    if decision.losesEdit { planned.lostEdits.append(decision.name) }
                    let isMadeAgain = [.repeat, .remake].contains(state)
                    if let before = candidate.before?.fingerprint, texts[decision.name] == before,
                        decision.item.fingerprint.hex != before
                    {
                        planned.lostTexts.append(decision.name)
                    }
                    // That an item of a batch is processed again is its state; lost edits are listed for all items.
                    if existing == nil || !isMadeAgain, let note = decision.note { planned.notes.append(note) }
                    rows.append(row(candidate, decision, state, mean))
                    actions.append(CandidateAction(candidate, decision))
                }
                try journal.found.add(rows)
                return actions
            }
            for (index, recipe) in recipes.enumerated() {
                planned.notes += try recipe.remarks(journal.found, recipe: index)
            }
            return planned
        }

        private func remainingWork(_ candidate: Candidate, _ decision: WorkPlanner.Decision) async -> RemainingWork {
            let own =
                existing?.batch.remainingWork(candidate.before, decision, recipes[decision.item.recipe])
                ?? RemainingWork(new: decision)
            guard own.isWork else { return own }
            guard let reusable else { return own }
            if await reusable.result(decision.name, of: DiscoveredSource(decision.item)) != nil { return .reuse }
            // Of a batch that exists, only results that it has count as made again.
            let isNew = existing?.batch.description == nil
            let recipe = recipes[decision.item.recipe]
            // A result with other options, whose label map can be taken over.
            guard isNew, let other = await reusable.result(decision.name, of: nil), other.hasRecordedDigests,
                recipe.keepsInference(source: decision.item.source, of: other.folder)
            else { return own }
            return .remake
        }

        private func row(
            _ candidate: Candidate,
            _ decision: WorkPlanner.Decision,
            _ state: RemainingWork,
            _ mean: Double?
        ) -> PlannedRow {
            let isGood = decision.item.problem == nil
            var row = PlannedRow(candidate, name: decision.name, state: state.rawValue, isGood: isGood)
            row.problem = Self.problem(decision, state)
            guard state.isWork else { return row }
            // A copy takes no memory worth counting.
            if state == .reuse {
                (row.peakBytes, row.steps) = (0, 0)
                return row
            }
            let recipe = recipes[decision.item.recipe]
            let plan = try? recipe.plan(
                source: decision.item.source,
                threads: threads,
                within: available,
                filesInMemory: filesInMemory
            )
            (row.peakBytes, row.steps, row.isLean) = (plan?.peak(), plan?.steps, plan?.isLean ?? false)
            row.otherSeconds = existing?.batch.secondsWithoutInference(of: decision.name) ?? mean
            return row
        }

        private static func problem(_ decision: WorkPlanner.Decision, _ state: RemainingWork) -> String? {
            switch decision.item.problem {
            case .refused(let reason): return "refused: \(reason.text)"
            case .setAside(let reason): return "set aside: \(reason.text)"
            case nil: break
            }
            guard !state.isWork, state != .completed else { return nil }
            return "\(state.rawValue) before" + (decision.reason.map { ": \($0.text)" } ?? "")
        }
    }
}
