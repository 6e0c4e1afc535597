import NocturneBatch
package import NocturneJournal

extension PlanReport {
    /// The items of a plan, which are read from its journal: there may be a million.
    package struct Items: Encodable, Sendable {
        /// The journal that was planned in: a copy, or a temporary one.
        package let journal: Journal
        /// Of inference, by recipe.
        private let secondsPerStep: [Double]
        /// Bytes left for items by the engine.
        private let available: Int
        /// Of all items.
        package private(set) var count = 0
        /// How many can be processed.
        package private(set) var goodCount = 0
        /// How many results are taken from other batches.
        package private(set) var reusedCount = 0
        /// How many results are made without inference.
        package private(set) var remadeCount = 0
        /// Of all items together.
        package private(set) var seconds = 0.0

        init(_ journal: Journal, secondsPerStep: [Double], available: Int) throws {
            (self.journal, self.secondsPerStep, self.available) = (journal, secondsPerStep, available)
            try journal.found.forEachPlanned { rows in
                count += rows.count
                for row in rows {
                    if row.isGood { goodCount += 1 }
                    let item = item(row)
                    if item.state == .reuse { reusedCount += 1 }
                    if item.state == .remake { remadeCount += 1 }
                    seconds += item.seconds ?? 0
                }
            }
        }

        /// Calls `body` with each item, in the order of discovery.
        package func forEach(_ body: (PlanReport.Item) throws -> Void) throws {
            try forEachPortion { try $0.forEach(body) }
        }

        /// Calls `body` with the items in the order of discovery, some at a time.
        package func forEachPortion(_ body: ([PlanReport.Item]) throws -> Void) throws {
            try journal.found.forEachPlanned { try body($0.map(item)) }
        }

        /// Calls `body` with each item that can be processed.
        package func forEachGood(_ body: (PlanReport.Item) throws -> Void) throws {
            try journal.found.forEachPlanned { for row in $0 where row.isGood { try body(item(row)) } }
        }

        /// As a list of ``PlanReport/Item``.
        package func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try forEach { try container.encode($0) }
        }

        private func item(_ row: PlannedRow) -> PlanReport.Item {
            // A state that this version does not know counts as not processed.
            let state = RemainingWork(rawValue: row.state) ?? .pending
            // Results that are remade take no inference, but all other stages.
            let inference: Double? = state == .remake ? 0 : row.steps.map { Double($0) * secondsPerStep[row.recipe] }
            var seconds = inference
            if state.isWork, let others = row.otherSeconds { seconds = (inference ?? 0) + others }
            return PlanReport.Item(
                item: row.name,
                source: row.path,
                state: state,
                peakBytes: row.peakBytes,
                tiles: state == .remake ? 0 : row.steps,
                seconds: seconds,
                // An item without a forecast fits only if nothing is left to be done for it.
                fits: row.peakBytes.map { $0 <= available } ?? (state == .completed),
                lean: row.isLean,
                problem: row.problem,
                place: row.place,
                key: row.key
            )
        }
    }
}
