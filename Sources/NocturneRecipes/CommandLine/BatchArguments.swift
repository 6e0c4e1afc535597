package import ArgumentParser
import Foundation
package import NocturneBatch
package import NocturneInference
import NocturneRecipeSupport
import NocturneSystem

/// The inputs, the models, and every option that can change a result.
package struct BatchArguments: ParsableArguments {
    @Argument(help: "Files and folders to process.", completion: .file())
    package var inputs: [String] = []

    @Option(
        name: [.customShort("m"), .long],
        parsing: .singleValue,
        help: "A model package: a folder or a name. Repeatable. Default: the only one on the search path.",
        completion: .model
    )
    package var model: [String] = []

    @Option(help: "Read inputs from this file, one per line; - for standard input.", completion: .file())
    package var list: String?

    @Option(
        parsing: .singleValue,
        help: "Process only files whose name or relative path matches this pattern. Repeatable."
    )
    package var include: [String] = []

    @Option(parsing: .singleValue, help: "Leave out files that match this pattern. Repeatable.")
    package var exclude: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "Restrict a model to inputs whose file name or relative path matches the pattern. Repeatable.",
            valueName: "model=pattern"
        )
    )
    package var only: [ModelPattern] = []

    @Option(help: "Engine that runs the networks.")
    package var engine = EngineChoice.auto

    @Option(help: "Arithmetic of the networks.")
    package var precision = InferencePrecision.float32

    @Option(
        help: ArgumentHelp(
            "How input names appear in results: as they are (keep), with digests in place of UIDs and of the patient's "
                + "name, number and birth date (hash), or not (none). "
                + "DICOM objects name the patient like their source in any case."
        )
    )
    package var identifiers = IdentifierPolicy.hash

    @OptionGroup package var recipes: RecipeArgumentGroups

    package init() {}

    /// The options on the command line that a batch is described by, besides the inputs.
    package var given: [String] {
        var names = RecipeRegistry.current.arguments.flatMap(recipes.parsed.given(in:))
        if !model.isEmpty { names.append("--model") }
        if list != nil { names.append("--list") }
        if !include.isEmpty { names.append("--include") }
        if !exclude.isEmpty { names.append("--exclude") }
        if !only.isEmpty { names.append("--only") }
        if engine != .auto { names.append("--engine") }
        if precision != .float32 { names.append("--precision") }
        if identifiers != .hash { names.append("--identifiers") }
        return names
    }
}

/// A model with a pattern for the names of its inputs.
package struct ModelPattern: ExpressibleByArgument, Sendable {
    let model: String
    let pattern: String

    package init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        (model, pattern) = (parts[0], parts[1])
    }
}

extension BatchArguments {
    /// The inputs from the command line and the list, as absolute paths.
    /// - Throws: `BatchError` for a list that cannot be read; `ValidationError` without any input.
    package func allInputs() throws -> [String] {
        var all = inputs
        if let list { all += InputList.paths(in: try text(ofList: list)) }
        guard !all.isEmpty else { throw ValidationError("name at least one input: a file, a folder, or --list") }
        if let address = all.first(where: Self.isAddress) {
            throw ValidationError("\(address) is an address: download it first, since Nocturne uses no network")
        }
        return all.map(absolutePath)
    }

    private static func isAddress(_ text: String) -> Bool {
        guard let end = text.firstRange(of: "://")?.lowerBound, end > text.startIndex else { return false }
        return text[..<end].allSatisfy { $0.isLetter || $0.isNumber }
    }

    private func text(ofList list: String) throws -> String {
        if list == "-" { return String(decoding: FileHandle.standardInput.readDataToEndOfFile(), as: UTF8.self) }
        do {
            return String(decoding: try FileSystem.read(list, limit: 1 << 30, acceptsPipes: true), as: UTF8.self)
        } catch {
            let detail = "the list cannot be read: \(String(cString: strerror(error.code)))"
            throw BatchError(.inputMissing, path: list, detail: detail)
        }
    }

    /// Reads the files named by options, so that mistakes are reported before processing starts.
    package func check() throws {
        for kind in RecipeRegistry.current.kinds { _ = try kind.options(from: recipes.parsed, hasModels: true) }
    }

    /// The batch described by these arguments; models are given by their folders. Where neither a model is named nor an option
    /// is given that needs none, the only package on the search path is used.
    /// - Parameters:
    ///   - version: the program's version.
    ///   - say: gets a message that names the package that was chosen so.
    package func description(version: String, say: (String) -> Void = { _ in }) throws -> BatchDescription {
        var packages = ModelPackage.distinct(try model.map { try LoadedModels.package($0) })
        if packages.isEmpty, try !usesKindWithoutModel {
            let package = try onlyPackage()
            say("Using the only model on the search path: \(package.id) in \(package.folder)")
            packages = [package]
        }
        let choices = try choices(for: packages)
        for package in packages where packages.filter({ $0.id == package.id }).count > 1 {
            throw ValidationError(
                "two models have the id \(package.id) and the same version: "
                    + packages.filter { $0.id == package.id }.map(\.folder).joined(separator: ", ")
            )
        }
        return BatchDescription(
            version: version,
            models: packages.map { .init(id: $0.id, name: $0.name, version: $0.version, digest: $0.digest.hex) },
            options: choices.shown,
            identifiers: identifiers,
            values: try choices.values,
            inputs: try allInputs(),
            include: include,
            exclude: exclude,
            only: try routes(packages, choices),
            modelPaths: packages.map { absolutePath($0.folder) }
        )
    }

    /// Whether an option is given that processes inputs without a model.
    private var usesKindWithoutModel: Bool {
        get throws {
            for kind in RecipeRegistry.current.kinds where kind.settings == nil {
                if try kind.options(from: recipes.parsed, hasModels: false) != nil { return true }
            }
            return false
        }
    }

    /// - Throws: `ValidationError` where the search path has none, or several.
    private func onlyPackage() throws -> ModelPackage {
        let found = ModelPackage.distinct(LoadedModels.catalog.entries().compactMap { try? $0.package.get() })
        if found.count == 1 { return found[0] }
        let others = "use existing labels with --existing-labels, or make surfaces with --isosurface"
        guard !found.isEmpty else { throw ValidationError("name a model with --model, \(others)") }
        throw ValidationError("name a model with --model: \(found.map(\.id).joined(separator: ", ")); or \(others)")
    }

    /// The options of the kinds in use.
    /// - Throws: `ValidationError` for options that no kind in use takes.
    private func choices(for packages: [ModelPackage]) throws -> BatchChoices {
        let registry = RecipeRegistry.current
        let tasks = Set(packages.map(\.task))
        func chosen<Kind: RecipeKind>(_ kind: Kind.Type) throws -> ChosenRecipe? {
            try kind.options(from: recipes.parsed, hasModels: !tasks.isDisjoint(with: kind.packageTasks)).map {
                try ChosenRecipe(kind, $0)
            }
        }
        let used = try registry.kinds.compactMap { try chosen($0) }
        try recipes.checkTaken(by: used.map(\.kind))
        return BatchChoices(
            inference: InferenceOptions(engine: engine, precision: precision),
            identifiers: identifiers,
            recipes: used
        )
    }

    /// `--only` with the models' ids, each pattern once.
    private func routes(_ packages: [ModelPackage], _ choices: BatchChoices) throws -> [String]? {
        var routes: [String] = []
        let withoutModel = choices.recipes.filter { $0.kind.settings == nil }.map { $0.kind.task }
        let ids = packages.map(\.id) + withoutModel
        for route in only {
            // The id, or the name given to --model.
            let package = zip(model, packages).first { $0 == route.model || $1.id == route.model }?.1
            guard let id = package?.id ?? ids.first(where: { $0 == route.model }) else {
                throw ValidationError(
                    "--only names the unknown model \(route.model); the models are \(ids.joined(separator: ", "))"
                )
            }
            let text = "\(id)=\(route.pattern)"
            if !routes.contains(text) { routes.append(text) }
        }
        return routes.isEmpty ? nil : routes
    }
}
