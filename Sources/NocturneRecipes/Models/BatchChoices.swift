package import NocturneBatch
package import NocturneInference
package import NocturneRecipeSupport
package import NocturneSystem

/// Which engine runs the networks of a batch, and in which precision.
package struct InferenceOptions: Codable, Hashable, Sendable {
    package var engine: EngineChoice
    package var precision: InferencePrecision

    package init(engine: EngineChoice = .auto, precision: InferencePrecision = .float32) {
        self.engine = engine
        self.precision = precision
    }

    /// Decodes the format of version 0.1.0.
    init(_ options: OptionsOfVersion1) throws(OptionValueError) {
        self.init(
            engine: try options.value("engine") ?? .auto,
            precision: try options.value("precision") ?? .float32
        )
    }

    /// Values by command-line name.
    package var shown: [String: String] { ["engine": engine.rawValue, "precision": precision.rawValue] }
}

/// A kind of recipe with its options in a batch.
package struct ChosenRecipe: Sendable {
    package let kind: any RecipeKind.Type
    /// Values by command-line name.
    package let shown: [String: String]
    package let value: JSONValue
    /// Creates the recipe with its models loaded.
    package let make: @Sendable ([ChosenModel]) throws -> any Recipe
    /// Writes what is about the whole batch.
    package let summary: BatchSummary

    init<Kind: RecipeKind>(_ kind: Kind.Type, _ options: Kind.Options) throws {
        self.kind = kind
        shown = options.shown
        value = try JSONValue(encoding: options)
        make = { try kind.make($0, options: options) }
        summary = { try kind.summarize(options, folders: $0, into: $1, flag: $2) }
    }
}

/// The typed options of a batch, from the command line or from the journal's description.
package struct BatchChoices: Sendable {
    package var inference: InferenceOptions
    package var identifiers: IdentifierPolicy
    package var recipes: [ChosenRecipe]

    package init(inference: InferenceOptions, identifiers: IdentifierPolicy, recipes: [ChosenRecipe]) {
        self.inference = inference
        self.identifiers = identifiers
        self.recipes = recipes
    }

    /// Values by command-line name: for `batch.json` and the comparison with an earlier run.
    package var shown: [String: String] {
        recipes.reduce(into: inference.shown.merging(identifiers.shown) { $1 }) { $0.merge($1.shown) { $1 } }
    }

    /// For the journal.
    package var values: OptionValues {
        get throws {
            OptionValues(
                inference: try JSONValue(encoding: inference),
                recipes: Dictionary(uniqueKeysWithValues: recipes.map { ($0.kind.task, $0.value) })
            )
        }
    }
}

extension BatchChoices {
    /// The options in a description, in either format.
    /// - Parameter tasks: the tasks of the batch's packages.
    /// - Throws: `BatchError` for a value or task unknown to this version.
    package init(_ description: BatchDescription, tasks: Set<String>, _ registry: RecipeRegistry) throws {
        do {
            if let values = description.values {
                try self.init(values, description.identifiers, registry)
            } else {
                try self.init(OptionsOfVersion1(description.options), description.identifiers, tasks, registry)
            }
        } catch let error as BatchError {
            throw error
        } catch {
            throw BatchError(.optionsUnusable, path: "", detail: "the recorded options cannot be used: \(error)")
        }
    }

    private init(_ values: OptionValues, _ identifiers: IdentifierPolicy, _ registry: RecipeRegistry) throws {
        for task in values.recipes.keys.sorted() where registry.kind(of: task) == nil {
            throw registry.unknownTask(task)
        }
        func chosen<Kind: RecipeKind>(_ kind: Kind.Type, _ value: JSONValue) throws -> ChosenRecipe {
            try ChosenRecipe(kind, try Kind.Options(recorded: value))
        }
        self.init(
            inference: try values.inference.decoded(),
            identifiers: identifiers,
            recipes: try registry.kinds.compactMap { kind in
                try values.recipes[kind.task].map { try chosen(kind, $0) }
            }
        )
    }

    private init(
        _ options: OptionsOfVersion1,
        _ identifiers: IdentifierPolicy,
        _ tasks: Set<String>,
        _ registry: RecipeRegistry
    ) throws {
        func chosen<Kind: RecipeKind>(_ kind: Kind.Type) throws -> ChosenRecipe? {
            guard kind.settings == nil || tasks.contains(kind.task) else { return nil }
            return try Kind.Options(options).map { try ChosenRecipe(kind, $0) }
        }
        self.init(
            inference: try InferenceOptions(options),
            identifiers: identifiers,
            recipes: try registry.kinds.compactMap { try chosen($0) }
        )
    }
}

extension RecipeRegistry {
    /// The error for a task that no kind has; lists the known tasks.
    func unknownTask(_ task: String) -> BatchError {
        BatchError(
            .modelUnusable,
            path: "",
            detail: "unknown task \(task); known tasks: \(tasks.joined(separator: ", "))"
        )
    }
}
