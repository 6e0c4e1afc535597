import ArgumentParser
package import NocturneBatch
package import NocturneInference
package import NocturneOutput
package import NocturneRecipeSupport
package import NocturneReport

extension BatchChoices {
    /// Which engine runs the networks of a batch, where, and in which precision.
    package struct InferenceOptions: OptionSection, RecipeOptions {
        /// Of the section of the help.
        package static let title = "Models"

        /// Which engine runs the networks.
        package var engine = EngineChoice.auto
        /// The CPU, or a GPU.
        package var device = InferenceDevice.auto
        /// Of the tiles that a device computes, one in this number is computed on the processor too; 0 for the first one only. Results
        /// do not depend on it.
        package var recheck = InferenceDevice.defaultRecheck
        /// The arithmetic of the networks.
        package var precision = InferencePrecision.float32

        /// All options of the section.
        package static let options: [Entry] = [
            Entry("engine", \.engine, "Engine that runs the networks.").alwaysRecorded.main,
            Entry(
                "device",
                \.device,
                ArgumentHelp(
                    "Where the networks run: \(InferenceDevice.list). auto takes a GPU where there is one that an engine can use.",
                    valueName: "device"
                )
            ).alwaysRecorded.main,
            Entry(
                "recheck",
                \.recheck,
                ArgumentHelp(
                    "On a GPU, compute every Nth tile on the CPU, too, and compare; 0 compares only the first.",
                    valueName: "tiles"
                )
            ).absentFromResults,
            Entry("precision", \.precision, "Arithmetic of the networks.").alwaysRecorded,
        ]

        /// The defaults.
        package init() {}

        /// The environment of the engines, which read device and recheck from it.
        package func applied(to environment: [String: String]) -> [String: String] {
            environment.merging([
                InferenceDevice.variable: device.rawValue, InferenceDevice.recheckVariable: "\(max(recheck, 0))",
            ]) { $1 }
        }
    }
}

/// The options of a batch, from the command line or from the journal's description.
package struct BatchChoices: Sendable {
    /// Engine, device and precision.
    package let inference: InferenceOptions
    /// In the order of the registry.
    package let recipes: [Choice]

    /// - Parameters:
    ///   - kinds: those that the batch uses.
    ///   - recorded: texts as in a description.
    ///   - given: texts by name, from the command line; they rank before what is recorded.
    /// - Throws: `OptionArgument.ValueError`; `ValidationError`; `BatchError` for files that cannot be used.
    package init(
        of kinds: [any RecipeKind.Type],
        recorded: [String: String] = [:],
        given: [String: String] = [:]
    ) throws {
        func chosen<Kind: RecipeKind>(_ kind: Kind.Type) throws -> Choice {
            Choice(kind, try Kind.Options(recorded: recorded, given: given))
        }
        inference = try InferenceOptions(recorded: recorded, given: given)
        recipes = try kinds.map { try chosen($0) }
    }

    /// The options in a description.
    /// - Throws: `BatchError` for a value or task that this version does not know.
    package init(_ description: BatchDescription) throws(BatchError) {
        let kinds = try RecipeRegistry.current.kinds(of: description)
        do {
            try self.init(of: kinds, recorded: description.options)
        } catch let error as BatchError {
            throw error
        } catch {
            throw BatchError(.optionsUnusable, path: "", detail: "the recorded options cannot be used: \(error)")
        }
    }

    /// What a description records: texts by name.
    package var recorded: [String: String] {
        recipes.reduce(into: inference.recorded) { $0.merge($1.recorded) { $1 } }
    }
}

extension BatchChoices {
    /// A kind of recipe with its options in a batch.
    package struct Choice: Sendable {
        /// Its entry in the registry.
        package let kind: any RecipeKind.Type
        /// Creates the recipe with its models loaded.
        package let make: @Sendable ([ChosenModel]) throws -> any Recipe
        /// Writes what is about the whole batch.
        package let summary: BatchSummary
        fileprivate let recorded: [String: String]

        fileprivate init<Kind: RecipeKind>(_ kind: Kind.Type, _ options: Kind.Options) {
            self.kind = kind
            recorded = options.recorded
            make = { try kind.make($0, options: options) }
            summary = { try kind.summarize(options, folders: $0, into: $1, flag: $2) }
        }
    }
}
