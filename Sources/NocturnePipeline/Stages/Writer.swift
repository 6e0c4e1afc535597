import Foundation
import NocturneConcurrency
import NocturneCore

/// Writes an item's files into staging and hands the folder to the committer.
actor Writer<R: Recipe> {
    private let recipe: R
    private let input: BoundedChannel<Flight<R.Meshed>>
    private let surroundings: StageSurroundings
    private let committer: Committer
    private let facts: RunFacts

    init(
        recipe: R,
        input: BoundedChannel<Flight<R.Meshed>>,
        surroundings: StageSurroundings,
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
                    while let flight = try? await input.receive() {
                        let result = await surroundings.attempt(.write, flight) { flight in
                            try await self.writeAndCommit(flight)
                        }
                        if let product = result { await surroundings.end(flight.item, .completed(product)) }
                    }
                }
            }
        }
        surroundings.reports.finish()
    }

    private nonisolated func writeAndCommit(_ flight: Flight<R.Meshed>) async throws -> ItemProduct {
        let item = flight.item
        let folder = item.context.staging + "/result"
        let start = ContinuousClock.now
        let product = try await surroundings.blocking.run { [recipe, facts] in
            try FileSystem.makeFolder(item.context.staging)
            FileSystem.remove(folder)
            try FileSystem.makeFolder(folder)
            let product = try recipe.write(flight.payload, into: folder, item.item, item.context)
            var seconds = item.seconds
            seconds[.write] = (ContinuousClock.now - start).inSeconds
            try FileSystem.write(
                folder + "/run.json",
                facts.report(seconds: seconds, predictedPeakBytes: item.plan.peak())
            )
            return product
        }
        // The memory is not needed while the disk is waited for.
        item.lease.shrink(to: 0)
        try item.flag.check()
        try await committer.commit(PendingCommit(id: item.id, name: item.item.name, folder: folder, product: product))
        return product
    }
}

/// When and where the run happens: what goes into `run.json`, and nowhere else.
struct RunFacts: Sendable {
    let startedAt: String
    let hostName: String
    let threads: Int
    let budgetBytes: Int
    let version: String

    private struct Report: Encodable {
        let schemaVersion = 1
        let finishedAt: String
        let batchStartedAt: String
        let host: String
        let version: String
        let threads: Int
        let budgetBytes: Int
        let predictedPeakBytes: Int
        let residentBytes: Int
        let peakResidentBytes: Int
        let seconds: [String: Double]
    }

    func report(seconds: [Stage: Double], predictedPeakBytes: Int) throws -> [UInt8] {
        let memory = ProcessMemory.read()
        let report = Report(
            finishedAt: Timestamp.now(),
            batchStartedAt: startedAt,
            host: hostName,
            version: version,
            threads: threads,
            budgetBytes: budgetBytes,
            predictedPeakBytes: predictedPeakBytes,
            residentBytes: memory.resident,
            peakResidentBytes: memory.peak,
            seconds: Dictionary(
                uniqueKeysWithValues: seconds.map { ($0.key.rawValue, ($0.value * 1e4).rounded() / 1e4) }
            )
        )
        return try StableJSON.encode(report)
    }
}
