import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneRecipes
import NocturneSystem

/// What `models check` found out about a package.
struct CheckReport: Encodable {
    var model: String
    var version: String
    var threads: Int
    var networks: [EngineComparison.Report]

    /// Loads the package as a run would with the engine that `auto` takes, then compares the engines.
    /// - Throws: whatever makes the package unusable.
    init(package: ModelPackage, threads: Int, repeats: Int) async throws {
        let environment = ProcessInfo.processInfo.environment
        let paths = package.networks.map(package.path(of:))
        let engine = try EngineChoice.engine(named: .auto, for: paths, environment: environment)
        let pool = ComputePool(width: threads)
        defer { pool.shutdown() }
        var networks: [EngineComparison.Report] = []
        for entry in try Self.entries(package, engine) {
            var report = try await pool.run {
                try EngineComparison.run(
                    onnx: package.path(of: entry.file),
                    shape: entry.shape,
                    others: entry.others,
                    repeats: repeats,
                    environment: environment,
                    scope: ComputeScope(pool: pool, flag: CancellationFlag())
                )
            }
            report.network = entry.file
            networks.append(report)
        }
        model = package.id
        version = package.version
        self.threads = threads
        self.networks = networks
    }

    private struct Entry {
        let file: String
        let shape: [Int]
        var others: [String: [Int]] = [:]
    }

    /// Loads the package as its recipe does, which checks that everything fits together.
    private static func entries(_ package: ModelPackage, _ engine: any InferenceEngine) throws -> [Entry] {
        switch package.task {
        case .volumeSegmentation:
            let model = try SegmentationModel(package: package, engine: engine, precision: .float32)
            return model.networks.map { Entry(file: $0.file, shape: $0.inputShape) }
        case .photoClassification:
            let model = try PhotoClassificationModel(package: package, engine: engine, precision: .float32)
            return try model.networks().map { file, input, shapes in
                Entry(file: file, shape: shapes[input] ?? [], others: shapes.filter { $0.key != input })
            }
        case .photoInstances:
            let model = try PhotoInstancesModel(package: package, engine: engine, precision: .float32)
            return [Entry(file: model.settings.network, shape: model.usualInputShape)]
        }
    }

    /// For people.
    var text: String {
        var lines = ["\(model) \(version): files and digests are right"]
        for network in networks {
            let shape = network.inputShape.map(String.init).joined(separator: "×")
            lines += ["", "\(network.network), \(shape), \(threads) threads"]
            var rows = [
                [
                    "engine", "precision", "instruction set", "largest diff", "RMS diff", "same class", "s/patch",
                    "speed", "memory",
                ]
            ]
            for row in network.rows {
                rows.append([
                    row.engine, row.precision.rawValue, row.instructionSet,
                    String(format: "%.1e", row.maximumRelativeDifference),
                    String(format: "%.1e", row.rmsRelativeDifference),
                    // Not rounded up to a hundred.
                    String(format: "%.4f %%", (row.agreementPercent * 10_000).rounded(.down) / 10_000),
                    String(format: "%.4f", row.secondsPerPatch), String(format: "%.2f×", row.speedRatio),
                    "\(ByteCount(row.bytes))",
                ])
            }
            lines.append(Terminal.table(rows))
            for absence in network.absent {
                let precision = absence.precision.map { " " + $0.rawValue } ?? ""
                lines.append("not run: \(absence.engine)\(precision): \(absence.reason)")
            }
        }
        return lines.joined(separator: "\n")
    }
}
