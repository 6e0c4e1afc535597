import Foundation
import NocturneConcurrency
package import NocturneInference
import NocturneRecipeSupport
import NocturneSystem

/// The report of `models check` about a package.
package struct CheckReport: Encodable, Sendable {
    /// The id of the package.
    package let model: String
    /// The version of the package.
    package let version: String
    /// With which the networks were timed.
    package let threads: Int
    /// Of each network, engines and precisions against the builtin engine's exact arithmetic.
    package let networks: [EngineComparison.Report]

    /// Why the package is not to be used: the first network that differs from what its library computed; nil where none does.
    package var fault: String? { networks.lazy.compactMap(\.fault).first }

    /// Loads the package as a run would with the engine chosen by `auto`, then compares the engines.
    /// - Throws: any error that makes the package unusable.
    package init(package: ModelPackage, threads: Int, repeats: Int) async throws {
        let registry = RecipeRegistry.current
        let environment = ProcessInfo.processInfo.environment
        // The engine that a run would use. Where there is none, the package cannot be used, and nothing is timed.
        let paths = try registry.settings(of: package).networks.map(package.path(of:))
        let engine = try InferenceEngines.all.engine(
            named: InferenceEngines.automatic,
            for: paths,
            environment: environment
        )
        guard let kind = registry.kind(of: package.task) else { throw registry.unknownTask(package.task) }
        let pool = try ComputePool(width: threads)
        defer { pool.shutdown() }
        var networks: [EngineComparison.Report] = []
        for entry in try kind.networks(of: ChosenModel(package: package, engine: engine, precision: .float32)) {
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
}
