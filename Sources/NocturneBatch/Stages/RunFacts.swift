import NocturneConcurrency
import NocturneSystem

/// When and where the run happens: what goes into `run.json`, and nowhere else.
struct RunFacts: Sendable {
    let startedAt: String
    let hostName: String
    let threads: Int
    let budgetBytes: Int
    let version: String
    /// What the process and the engine take, whatever is active.
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
        /// Of this item alone, and of the process with all that was active at once so far.
        let predictedItemPeakBytes: Int
        let predictedPeakBytes: Int
        let residentBytes: Int
        let peakResidentBytes: Int
        let seconds: [String: Double]
    }

    /// What `run.json` contains about one item.
    func report(seconds: [Stage: Double], itemPeakBytes: Int, finishedAt: String) throws -> [UInt8] {
        let memory = MemoryReading.ofProcess()
        let report = Report(
            finishedAt: finishedAt,
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
