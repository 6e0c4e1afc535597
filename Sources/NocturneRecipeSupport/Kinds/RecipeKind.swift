package import NocturneBatch
package import NocturneInference
package import NocturneJournal
package import NocturneSystem

/// Everything the program has to know about one kind of recipe: which packages it runs, which options it takes, what its
/// results look like.
///
/// The registry lists the kinds; command line, loading of packages, `verify`, `models check`, schemas and help go through
/// that list, and nothing else names a kind.
package protocol RecipeKind: Sendable {
    associatedtype Options: RecipeOptions

    /// The `task` of its model packages, or its own name where it needs no model. Unique.
    static var task: String { get }

    /// Completes "models that …" in messages: "classify photos".
    static var purpose: String { get }

    /// The section of its packages' `model.json`; nil for a recipe that needs no model.
    static var settings: (any ModelSettings.Type)? { get }

    /// Its groups of command-line options. Kinds may share a group.
    static var arguments: [any RecipeArguments.Type] { get }

    /// The options of a batch.
    /// - Parameter hasModels: whether packages of its task were given.
    /// - Returns: nil when the batch does not use this kind.
    /// - Throws: `BatchError` for files that an option names and that cannot be used.
    static func options(from arguments: ParsedRecipeArguments, hasModels: Bool) throws -> Options?

    /// The recipe, with its models in memory.
    /// - Throws: `BatchError` when a package cannot be used, or does not fit the options.
    static func make(_ models: [ChosenModel], options: Options) throws -> any Recipe

    /// Lines about a package for `models show`.
    static func details(of package: ModelPackage) throws -> [String]

    /// The networks of a package with the shapes of what goes in, for `models check`. Loads the package as a run does, which
    /// checks that everything fits together.
    static func networks(of model: ChosenModel) throws -> [NetworkInputs]

    /// The `task` in its `result.json`; nil where that has none.
    static var resultTask: String? { get }

    /// What its `result.json` has to fit.
    static var resultSchema: JSONSchema { get }

    /// Holds the files of a finished item against its `result.json`.
    /// - Throws: `CancelledError`. Whatever is wrong with the item is among the findings.
    static func inspect(_ item: CommittedItem, _ document: JSONValue, flag: CancellationFlag) throws -> ResultFindings

    /// What is wrong with a file beside the items that one of its results promises; nil when nothing is, or when the file
    /// is of another kind.
    static func inspectBatchFile(at path: String) -> String?

    /// Whether the item is an entry of the review queue as a whole while it has no parts.
    static func isReviewEntry(_ item: JournalItem) -> Bool
}

extension RecipeKind {
    package static var resultTask: String? { task }

    package static func details(of package: ModelPackage) throws -> [String] { [] }

    package static func networks(of model: ChosenModel) throws -> [NetworkInputs] { [] }

    package static func inspectBatchFile(at path: String) -> String? { nil }

    package static func isReviewEntry(_ item: JournalItem) -> Bool { false }

    /// Loads the packages one after the other; an error names the package.
    /// - Throws: `BatchError`.
    package static func load<Model>(
        _ models: [ChosenModel],
        _ load: (ChosenModel) throws -> Model
    ) throws(BatchError) -> [Model] {
        var loaded: [Model] = []
        for model in models {
            do {
                loaded.append(try load(model))
            } catch {
                throw BatchError(.modelUnusable, path: model.package.folder, detail: "\(error)")
            }
        }
        return loaded
    }
}

/// A model package with what is to run its networks.
package struct ChosenModel: Sendable {
    package let package: ModelPackage
    package let engine: any InferenceEngine
    package let precision: InferencePrecision

    package init(package: ModelPackage, engine: any InferenceEngine, precision: InferencePrecision) {
        self.package = package
        self.engine = engine
        self.precision = precision
    }
}

/// A network of a package with the shapes of its inputs.
package struct NetworkInputs: Sendable {
    /// Among the package's files.
    package let file: String
    /// Of the input that is a picture, a patch or a map.
    package let shape: [Int]
    /// Of the other inputs, by name.
    package let others: [String: [Int]]

    package init(file: String, shape: [Int], others: [String: [Int]] = [:]) {
        self.file = file
        self.shape = shape
        self.others = others
    }
}
