import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// Writes an item's files into staging and hands the folder to the committer.
actor Writer<R: Recipe> {
    private let recipe: R
    private let input: BoundedChannel<StageMessage<R.Meshed>>
    private let surroundings: StageEnvironment
    private let committer: Committer
    private let facts: RunFacts

    init(
        recipe: R,
        input: BoundedChannel<StageMessage<R.Meshed>>,
        surroundings: StageEnvironment,
        committer: Committer,
        facts: RunFacts
    ) {
        self.recipe = recipe
        self.input = input
        self.surroundings = surroundings
        self.committer = committer
        self.facts = facts
    }

    /// Many at once, so that the commits of small items meet and share one flush.
    func run(workers: Int = 16) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<workers {
                group.addTask { [self] in
                    while let (item, pending) = await writeNext() {
                        guard let pending else { continue }
                        // The volume is gone by now: its memory is not needed while the disk is waited for.
                        surroundings.giveBack(item, after: .write)
                        let product = await surroundings.attempt(.write, item) {
                            try await self.committer.commit(pending)
                            return pending.product
                        }
                        if let product { await surroundings.end(item, .completed(product)) }
                    }
                }
            }
        }
    }

    /// Takes one item and writes its files. Nil at the end of the channel; nothing to commit when the item ended here.
    private nonisolated func writeNext() async -> (ActiveItem, PendingCommit?)? {
        guard let flight = try? await input.receive() else { return nil }
        return (flight.item, await surroundings.attempt(.write, flight.item) { try await self.write(flight) })
    }

    private nonisolated func write(_ flight: StageMessage<R.Meshed>) async throws -> PendingCommit {
        let item = flight.item
        let folder = item.context.staging + "/result"
        try item.checkInputs()
        let start = ContinuousClock.now
        let product = try await surroundings.blocking.run { [recipe, facts] in
            try FileSystem.makeFolder(item.context.staging)
            FileSystem.remove(folder)
            try FileSystem.makeFolder(folder)
            let product = try recipe.write(flight.payload, into: folder, item.item, item.context)
            var seconds = item.seconds
            seconds[.write] = (ContinuousClock.now - start).inSeconds
            try FileSystem.write(folder + "/run.json", facts.report(seconds: seconds, itemPeakBytes: item.plan.peak()))
            return product
        }
        return PendingCommit(id: item.id, name: item.item.name, folder: folder, product: product)
    }
}

/// When and where the run happens: what goes into `run.json`, and nowhere else.
struct RunFacts: Sendable {
    let startedAt: String
    let hostName: String
    let threads: Int
    let budgetBytes: Int
    let version: String
    /// What the process and the engine take, whatever is in flight.
    let engineBytes: Int
    let budget: MemoryBudget

    private struct Report: Encodable {
        let schemaVersion = 1
        let finishedAt: String
        let batchStartedAt: String
        let host: String
        let version: String
        let threads: Int
        let budgetBytes: Int
        /// Of this item alone, and of the process with all that was in flight at once so far.
        let predictedItemPeakBytes: Int
        let predictedPeakBytes: Int
        let residentBytes: Int
        let peakResidentBytes: Int
        let seconds: [String: Double]
    }

    func report(seconds: [Stage: Double], itemPeakBytes: Int) throws -> [UInt8] {
        let memory = ProcessMemory.read()
        let report = Report(
            finishedAt: Timestamp.now(),
            batchStartedAt: startedAt,
            host: hostName,
            version: version,
            threads: threads,
            budgetBytes: budgetBytes,
            predictedItemPeakBytes: itemPeakBytes,
            predictedPeakBytes: engineBytes + budget.snapshot().peakLeased,
            residentBytes: memory.resident,
            peakResidentBytes: memory.peak,
            seconds: Dictionary(
                uniqueKeysWithValues: seconds.map { ($0.key.rawValue, ($0.value * 1e4).rounded() / 1e4) }
            )
        )
        return try StableJSON.encode(report)
    }
}
