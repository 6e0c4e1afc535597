import Foundation
import NocturneCore
import NocturneInference
import NocturnePipeline
import NocturneRecipes

/// From names on the command line, or from a journal's description, to models in memory.
enum LoadedModels {
    static var catalog: ModelCatalog { ModelCatalog(environment: ProcessInfo.processInfo.environment) }

    static func package(_ name: String) throws -> ModelPackage {
        do {
            return try catalog.resolve(nameOrPath: name)
        } catch {
            throw BatchError(.modelUnusable, path: "", detail: "\(error)")
        }
    }

    /// The engine that is asked for, or that takes the package's networks.
    /// - Throws: `BatchError`
    static func engine(
        _ name: String,
        for package: ModelPackage,
        precision: InferencePrecision
    ) throws -> any InferenceEngine {
        guard let choice = EngineChoice(rawValue: name) else {
            throw BatchError(.modelUnusable, path: "", detail: "there is no engine \(name)")
        }
        do {
            return try EngineChoice.engine(
                named: choice,
                for: package.networks.map(package.path(of:)),
                precision: precision,
                environment: ProcessInfo.processInfo.environment
            )
        } catch {
            throw BatchError(.modelUnusable, path: package.folder, detail: "\(error)")
        }
    }

    /// The recipe a description asks for.
    static func recipe(_ description: BatchDescription) throws -> VolumeSegmentation {
        let words = description.options
        let engineName = words["engine"] ?? EngineChoice.auto.rawValue
        let precision = InferencePrecision(rawValue: words["precision"] ?? "") ?? .float32
        let options = SegmentationOptions(words: words)
        do {
            let models = try description.modelPaths.map { path in
                let package = try package(path)
                let engine = try engine(engineName, for: package, precision: precision)
                return try SegmentationModel(package: package, engine: engine, precision: precision)
            }
            for (model, recorded) in zip(models, description.models) where model.package.digest.hex != recorded.digest {
                throw BatchError(
                    .modelUnusable,
                    path: model.package.folder,
                    detail: "the package changed: digest \(recorded.digest.prefix(12)) was expected, "
                        + "\(model.package.digest.hex.prefix(12)) was found"
                )
            }
            try check(options.labels, models)
            return VolumeSegmentation(models: models, options: options)
        } catch let error as BatchError {
            throw error
        } catch {
            throw BatchError(.modelUnusable, path: "", detail: "\(error)")
        }
    }

    private static func check(_ labels: [String]?, _ models: [SegmentationModel]) throws {
        let known = Set(models.flatMap { $0.package.labels.map(\.name) })
        for label in labels ?? [] where !known.contains(label) {
            throw BatchError(
                .modelUnusable,
                path: "",
                detail: "no model has a label \(label); there are \(known.sorted().joined(separator: ", "))"
            )
        }
    }
}
