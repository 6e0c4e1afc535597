import CPosix
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneRecipes
import NocturneSystem

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

    /// The recipes, and by how much the process's own memory grew while their models were loaded: what they hold already
    /// is among their shared bytes too, and has to be counted once.
    static func measuredRecipes(_ description: BatchDescription) throws -> (recipes: [any Recipe], loadedBytes: Int) {
        func ownBytes() -> Int {
            cposix_trim_heap()
            return MemoryReading.take().anonymousBytes ?? 0
        }
        let before = ownBytes()
        let recipes = try recipes(description)
        return (recipes, max(ownBytes() - before, 0))
    }

    /// The recipes a description asks for, one for each kind of model.
    static func recipes(_ description: BatchDescription) throws -> [any Recipe] {
        let words = description.options
        let engineName = words["engine"] ?? EngineChoice.auto.rawValue
        let precision = InferencePrecision(rawValue: words["precision"] ?? "") ?? .float32
        let packages = try description.modelPaths.map(package)
        for (package, recorded) in zip(packages, description.models) where package.digest.hex != recorded.digest {
            throw BatchError(
                .modelUnusable,
                path: package.folder,
                detail: "the package changed: digest \(recorded.digest.prefix(12)) was expected, "
                    + "\(package.digest.hex.prefix(12)) was found"
            )
        }
        func loaded<Model>(
            _ task: ModelTask,
            _ load: (ModelPackage, any InferenceEngine) throws -> Model
        ) throws -> [Model] {
            try packages.filter { $0.task == task }.map { package in
                let engine = try engine(engineName, for: package, precision: precision)
                do {
                    return try load(package, engine)
                } catch {
                    throw BatchError(.modelUnusable, path: package.folder, detail: "\(error)")
                }
            }
        }
        let volumes = try loaded(.volumeSegmentation) {
            try SegmentationModel(package: $0, engine: $1, precision: precision)
        }
        let classifiers = try loaded(.photoClassification) {
            try PhotoClassificationModel(package: $0, engine: $1, precision: precision)
        }
        let separators = try loaded(.photoInstances) {
            try PhotoInstancesModel(package: $0, engine: $1, precision: precision)
        }
        let options = SegmentationOptions(words: words)
        try check(options.labels, volumes)
        var recipes: [any Recipe] = []
        if !volumes.isEmpty { recipes.append(try VolumeSegmentation(models: volumes, options: options)) }
        if !classifiers.isEmpty {
            recipes.append(
                PhotoClassification(models: classifiers, options: PhotoClassificationOptions(words: words))
            )
        }
        if !separators.isEmpty {
            recipes.append(PhotoInstances(models: separators, options: PhotoInstancesOptions(words: words)))
        }
        if let existing = ExistingLabelsOptions(words: words) { recipes.append(ExistingLabels(options: existing)) }
        return recipes
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
