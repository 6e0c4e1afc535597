package import NocturneBatch
package import NocturneConcurrency
package import NocturneInference
package import NocturneJournal
package import NocturneOutput
package import NocturneReport
package import NocturneSystem

/// Everything the program needs to know about one kind of recipe: which packages it runs, which options it takes, and
/// the form of its results. The recipe itself conforms to it.
///
/// The registry lists the kinds. The command line, package loading, `verify`, `models check`, schemas and help use that
/// list; nothing else names a kind.
package protocol RecipeKind: Sendable {
    associatedtype Options: RecipeOptions

    /// The `task` of its model packages, or the kind's own name if it needs no model. Unique. The journal keeps it.
    static var task: String { get }

    /// The tasks of its model packages; ``task`` alone unless stated otherwise.
    static var packageTasks: [String] { get }

    /// Completes "needs a model to …" in messages: "classify photos".
    static var purpose: String { get }

    /// The section of its packages' `model.json`; nil for a recipe that needs no model.
    static var settings: (any ModelSettings.Type)? { get }

    /// The option that makes a batch use a kind that needs no model; nil for a kind with models.
    static var enablingOption: String? { get }

    /// Creates the recipe with its models loaded.
    /// - Throws: `BatchError` when a package cannot be used or does not match the options.
    static func make(_ models: [ChosenModel], options: Options) throws -> any Recipe

    /// Writes what is about the whole batch, without a model. See `Recipe.summarize(folders:into:flag:)`.
    static func summarize(
        _ options: Options,
        folders: CompletedFolders,
        into output: String,
        flag: CancellationFlag
    ) throws

    /// Lines about a package for `models show`.
    static func details(of package: ModelPackage) throws -> [String]

    /// The networks of a package with the shapes of their inputs, for `models check`. Loads the package as a run does,
    /// which checks its consistency.
    static func networks(of model: ChosenModel) throws -> [NetworkInputs]

    /// The `task` in its `result.json`; nil if its results name none.
    static var resultTask: String? { get }

    /// The schema of its `result.json`.
    static var resultSchema: JSONSchema { get }

    /// Its `result.json`, against which the files of a finished item are checked.
    static var result: any InspectableResult.Type { get }

    /// What a page for reviewers shows of a result with this `result.json`.
    /// - Throws: `DecodingError`.
    static func reviewParts(of result: [UInt8]) throws -> ReviewParts

    /// Checks that a label map which a person has edited can take the place of the one in an item's folder.
    /// - Returns: the path of the label map that it replaces.
    /// - Throws: ``LabelMapError``; `CancelledError`.
    static func checkEdit(_ path: String, of folder: String, scope: ComputeScope) throws -> String

    /// Agreement of two results of one input, with the measures of `--compare`; the first result is the reference.
    /// - Throws: ``LabelMapError`` when they cannot be compared; `CancelledError`; `AllocationError`.
    static func agreement(_ folder: String, _ other: String, scope: ComputeScope) throws -> [Statistic]

    /// The fault of a file outside the item folders that one of its results refers to; nil if the file is valid or
    /// belongs to another kind.
    static func inspectBatchFile(at path: String) -> String?

    /// The texts that another tool may read on the objects of its results, as names of columns for `nocturne review titles`.
    static var objectTexts: [String] { get }

    /// Whether the item is one entry of the review queue while it has no parts.
    static func isReviewEntry(_ item: JournalItem) -> Bool
}

extension RecipeKind {
    /// The kind's own task alone.
    package static var packageTasks: [String] { [task] }

    /// None: a recipe without a model.
    package static var settings: (any ModelSettings.Type)? { nil }

    /// None.
    package static var enablingOption: String? { nil }

    /// The sections of its options.
    package static var sections: [any OptionSection.Type] { Options.sections.map { $0.section } }

    /// Whether options enable a kind that needs no model.
    /// - Parameter given: texts by name.
    /// - Returns: nil where they do not state it.
    package static func isEnabled(by given: [String: String]) -> Bool? {
        enablingOption.flatMap { given[$0] }.map { $0 != OptionArgument.FlagText.no.rawValue }
    }

    /// The kind's own task.
    package static var resultTask: String? { task }

    /// Nothing.
    package static func summarize(
        _ options: Options,
        folders: CompletedFolders,
        into output: String,
        flag: CancellationFlag
    ) throws {}

    /// None.
    package static func details(of package: ModelPackage) throws -> [String] { [] }

    /// None.
    package static func networks(of model: ChosenModel) throws -> [NetworkInputs] { [] }

    /// Every file is valid.
    package static func inspectBatchFile(at path: String) -> String? { nil }

    /// No measures.
    package static func agreement(_ folder: String, _ other: String, scope: ComputeScope) throws -> [Statistic] { [] }

    /// Always throws: the kind has no label maps.
    package static func checkEdit(_ path: String, of folder: String, scope: ComputeScope) throws -> String {
        throw LabelMapError(detail: "only label maps of segmented volumes can be replaced; this item has none")
    }

    /// None.
    package static var objectTexts: [String] { [] }

    /// No.
    package static func isReviewEntry(_ item: JournalItem) -> Bool { false }

    /// Loads the packages one after the other; errors name the package.
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

extension Recipe where Self: RecipeKind {
    /// By `result.json`, and the digests of the files that it lists.
    package func recognize(folder: String, fingerprint: String) throws -> ItemProduct? {
        try Self.result.recognize(folder: folder, fingerprint: fingerprint)
    }

    /// Only a recipe without a model: there is no inference.
    package func keepsInference(_ source: Source, of folder: String) throws -> Bool { Self.settings == nil }
}

/// A label map cannot take the place of an item's, or be compared with it.
package struct LabelMapError: Error, Sendable {
    /// The fact, for a person.
    package let detail: String

    /// - Parameter detail: the fact, for a person.
    package init(detail: String) { self.detail = detail }
}

/// A model package with the engine that runs its networks.
package struct ChosenModel: Sendable {
    /// The package.
    package let package: ModelPackage
    /// The engine that runs all its networks.
    package let engine: any InferenceEngine
    /// The arithmetic of its networks.
    package let precision: InferencePrecision

    /// A package with its engine.
    package init(package: ModelPackage, engine: any InferenceEngine, precision: InferencePrecision) {
        self.package = package
        self.engine = engine
        self.precision = precision
    }
}

/// A network of a package with the shapes of its inputs.
package struct NetworkInputs: Sendable {
    /// One of the package's files.
    package let file: String
    /// Shape of the main input: a picture, a patch or a feature map.
    package let shape: [Int]
    /// Shapes of the other inputs, by name.
    package let others: [String: [Int]]

    /// - Parameter others: shapes of the other inputs, by name.
    package init(file: String, shape: [Int], others: [String: [Int]] = [:]) {
        self.file = file
        self.shape = shape
        self.others = others
    }
}
