import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneRecipes

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
        // Whether channels, patch and classes fit together.
        let loaded = try SegmentationModel(package: package, engine: engine, precision: .float32)
        let pool = ComputePool(width: threads)
        defer { pool.shutdown() }
        var networks: [EngineComparison.Report] = []
        for (file, shape) in loaded.networks {
            var report = try await pool.run {
                try EngineComparison.run(
                    onnx: package.path(of: file),
                    shape: shape,
                    repeats: repeats,
                    environment: environment,
                    scope: ComputeScope(pool: pool, flag: CancellationFlag())
                )
            }
            report.network = file
            networks.append(report)
        }
        model = package.id
        version = package.version
        self.threads = threads
        self.networks = networks
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
