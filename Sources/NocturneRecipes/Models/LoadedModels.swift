import CPosix
import Foundation
package import NocturneBatch
import NocturneConcurrency
package import NocturneInference
package import NocturneOutput
import NocturneRecipeSupport
package import NocturneReport
package import NocturneSystem

/// Loads models by the names on the command line or in a journal's description.
package enum LoadedModels {
    /// The packages on the search path, validated by the registry.
    package static func catalog(explicitFolders: [String] = []) -> ModelCatalog {
        let registry = RecipeRegistry.current
        return ModelCatalog(
            explicitFolders: explicitFolders,
            environment: ProcessInfo.processInfo.environment,
            validate: { package throws(ModelPackageError) in try registry.validate(package) }
        )
    }

    /// The packages on the search path that can be used.
    package static var usablePackages: [ModelPackage] { catalog().entries().compactMap { try? $0.package.get() } }

    /// The package for a name or folder.
    /// - Throws: `BatchError`.
    package static func package(_ name: String) throws -> ModelPackage {
        do {
            return try catalog().resolve(nameOrPath: name)
        } catch {
            throw BatchError(.modelUnusable, path: "", detail: "\(error)")
        }
    }

    /// The package with the requested engine, or with one that can run its networks.
    /// - Throws: `BatchError`.
    /// - Parameters:
    ///   - instructionSet: the one to use, whatever else this machine has; nil for the best one.
    ///   - weights: what the models share.
    private static func chosen(
        _ package: ModelPackage,
        _ options: BatchChoices.InferenceOptions,
        instructionSet: String?,
        weights: PackedWeights
    ) throws -> ChosenModel {
        do {
            var environment = options.applied(to: ProcessInfo.processInfo.environment)
            if let instructionSet { environment[InstructionSets.variable] = instructionSet }
            let settings = try RecipeRegistry.current.settings(of: package)
            let engine = try InferenceEngines.all.engine(
                named: options.engine.rawValue,
                for: settings.networks.map(package.path(of:)),
                precision: options.precision,
                environment: environment
            )
            return ChosenModel(package: package, engine: engine.sharing(weights), precision: options.precision)
        } catch {
            if options.device.isDemanded {
                throw BatchError(.modelUnusable, path: "", detail: "\(error), or leave out --device to use the CPU")
            }
            // What is missing on this machine has nothing to do with the package.
            if let error = error as? EngineError, error.code != .failed {
                let option = "--engine \(options.engine.rawValue)"
                throw BatchError(.modelUnusable, path: "", detail: "\(option) cannot be used: \(error)")
            }
            throw BatchError(.modelUnusable, path: package.folder, detail: "\(error)")
        }
    }

    /// The recipes, and the growth of the process's own memory while their models were loaded. These bytes are also
    /// part of the recipes' shared bytes and must be counted once.
    /// - Parameter memoryBytes: the budget of the run; nil for the default one.
    package static func measuredRecipes(
        _ description: BatchDescription,
        memoryBytes: Int?
    ) throws -> (recipes: [any Recipe], loadedBytes: Int) {
        func ownBytes() -> Int {
            cposix_trim_heap()
            return MemoryReading.take().anonymousBytes ?? 0
        }
        let before = ownBytes()
        let budget = memoryBytes ?? MemoryBudget.defaultTotal(MemoryReading.take())
        // A quarter of the budget at most for packed weights: the rest is for the items.
        let recipes = try recipes(description, weights: PackedWeights(limit: budget / 4))
        return (recipes, max(ownBytes() - before, 0))
    }

    /// What the recipes of a description write about the whole batch. Loads no model.
    /// - Throws: `BatchError`.
    package static func summaries(_ description: BatchDescription) throws -> [BatchSummary] {
        try BatchChoices(description).recipes.map(\.summary)
    }

    /// The packages of a description.
    /// - Throws: `BatchError` for one that is missing, damaged or another one: its results would not belong to the batch.
    package static func packages(of description: BatchDescription) throws -> [ModelPackage] {
        let packages = ModelPackage.distinct(try description.modelPaths.map(package))
        for (package, recorded) in zip(packages, description.models) where package.digest.hex != recorded.digest {
            throw BatchError(
                .modelUnusable,
                path: package.folder,
                detail: "the package changed: digest \(recorded.digest.prefix(12)) was expected, "
                    + "\(package.digest.hex.prefix(12)) was found. Put the package of the batch back, or give the new one to "
                    + "`nocturne run … --model \(ShellWord.quoted(package.folder)) --yes`, which makes its results again"
            )
        }
        return packages
    }

    /// The recipes of a description, one for each kind in use.
    /// - Throws: `BatchError`.
    package static func recipes(
        _ description: BatchDescription,
        weights: PackedWeights = PackedWeights()
    ) throws -> [any Recipe] {
        let packages = try packages(of: description)
        let choices = try BatchChoices(description)
        let known = Set(choices.recipes.flatMap { $0.kind.packageTasks })
        for package in packages where !known.contains(package.task) {
            throw RecipeRegistry.current.unknownTask(package.task)
        }
        return try choices.recipes.map { recipe in
            let models = try packages.filter { recipe.kind.packageTasks.contains($0.task) }.map {
                try chosen($0, choices.inference, instructionSet: description.instructionSet, weights: weights)
            }
            return try recipe.make(models)
        }
    }
}

extension LoadedModels {
    /// Loads the models for an engine that continues a batch after another engine has ended.
    ///
    /// A package that was moved away or replaced while the batch ran would end it here, after hours of work: the run waits
    /// until the package is there again, with a message.
    /// - Parameters:
    ///   - patience: after how long it gives up; nil for never.
    ///   - note: gets the reason for waiting, once for each.
    /// - Throws: `BatchError` when the models cannot be used and it has given up, or the run is to stop.
    package static func awaitingPackages<Loaded>(
        _ patience: Duration?,
        _ control: RunControl,
        _ time: any TimeSource,
        note: (String) async -> Void,
        load: () throws -> Loaded
    ) async throws -> Loaded {
        let start = time.monotonic
        var reported: String?
        while true {
            // Read before loading, so that a change in between ends the wait at once.
            let generation = control.changes.generation
            do {
                return try load()
            } catch let error as BatchError where error.code == .modelUnusable {
                let hasTime = patience.map { time.monotonic - start < $0 } ?? true
                guard control.mode == .running, hasTime else { throw error }
                if reported != error.description { await note("\(error); waiting until the package can be used again") }
                reported = error.description
                try await control.changes.wait(after: generation, atMost: .seconds(1), time)
            }
        }
    }
}
