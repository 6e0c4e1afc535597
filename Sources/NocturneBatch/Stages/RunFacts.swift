import Foundation
import NocturneConcurrency
import NocturneJournal
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

    private struct Report: Codable {
        var schemaVersion = 1
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
        /// The folder of the result that this is a copy of; nil for one that was made here.
        var reusedFrom: String?
    }

    /// What `run.json` contains about a copy of a result: how that was made, and where it lies.
    /// - Parameters:
    ///   - bytes: the file next to the result.
    ///   - folder: of the result.
    /// - Returns: nil for a file that is not such a record.
    static func reused(_ bytes: [UInt8], from folder: String) -> [UInt8]? {
        guard var report = try? JSONDecoder().decode(Report.self, from: Data(bytes)) else { return nil }
        report.reusedFrom = folder
        return try? StableJSON.encode(report)
    }

    /// From where the result in a folder was taken; nil for one that was made there.
    static func origin(of folder: String) -> ItemReason? {
        guard let bytes = try? FileSystem.read(folder + "/run.json", limit: 1 << 20),
            let report = try? JSONDecoder().decode(Report.self, from: Data(bytes))
        else { return nil }
        return report.reusedFrom.map(ReusableResult.origin)
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
