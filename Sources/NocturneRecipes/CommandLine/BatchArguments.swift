package import ArgumentParser
import Foundation
package import NocturneInference
package import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem

/// The inputs, the models, and every option that can change a result.
package struct BatchArguments: ParsableArguments {
    /// As on the command line.
    @Argument(help: "Files and folders to process.", completion: .file())
    package var inputs: [String] = []

    /// The option `--model`.
    @OptionGroup(title: ShortHelp.title) package var models: Models
    /// Which files are inputs.
    @OptionGroup(title: "Inputs") package var selection: Selection
    @OptionGroup(title: BatchChoices.InferenceOptions.title) var inference:
        SectionArguments<BatchChoices.InferenceOptions>
    /// How results name inputs.
    @OptionGroup(title: "Names in results") package var names: Names
    /// The options of all kinds of recipes.
    @OptionGroup package var recipes: RecipeArgumentGroups

    package init() {}

    /// The names of the given options that a batch is described by, besides the inputs.
    package var given: [String] {
        let options = texts.keys.sorted().map { "--" + $0 }
        return options + models.given + selection.given + names.given
    }

    /// The texts of the given options that are recorded, by name.
    private var texts: [String: String] { recipes.given.merging(inference.given) { $1 } }

    /// The names of the options that a batch records, and of those about its inputs.
    static var recordedOptions: Set<String> {
        Set(RecipeRegistry.current.sections.flatMap { $0.optionNames } + BatchChoices.InferenceOptions.optionNames)
            .union(["model", "list", "include", "exclude", "only", "identifiers", NamePattern.option])
    }

    /// The precision of the networks.
    package var precision: InferencePrecision {
        get throws { try BatchChoices.InferenceOptions(given: texts).precision }
    }
}

extension BatchArguments {
    /// The inputs from the command line and the list, as absolute paths.
    /// - Throws: `BatchError` for a list that cannot be read, or names no input; `ValidationError` without any input or list.
    package func allInputs() throws -> [String] {
        var all = inputs
        if let list = selection.list { all += InputList.paths(in: try text(ofList: list)) }
        guard !all.isEmpty else {
            guard let list = selection.list else {
                throw ValidationError("name at least one input: a file, a folder, or --list")
            }
            // Such as retry.txt of a batch in which nothing failed: no mistake in the command line.
            let detail = "\(list == "-" ? "standard input" : "the list \(list)") names no input. Give one path per line"
            throw BatchError(.nothingMatched, path: "", detail: detail)
        }
        // An empty path would be the current folder.
        guard !all.contains("") else {
            throw ValidationError("an input is empty. Check the shell variable that was to hold its path")
        }
        if let address = all.first(where: Self.isAddress) {
            throw ValidationError("\(address) is an address: download it first, since Nocturne uses no network")
        }
        return all.map(absolutePath)
    }

    /// Whether an input does not exist, which a new batch refuses. A list that can be read only once, such as a pipe, is not read.
    package var lacksInput: Bool {
        let canRead = selection.list.map { FileSystem.kind($0) == .file } ?? true
        let paths = canRead ? try? allInputs() : nil
        return (paths ?? inputs.map(absolutePath)).contains { !FileSystem.exists($0) }
    }

    private static func isAddress(_ text: String) -> Bool {
        guard let end = text.firstRange(of: "://")?.lowerBound, end > text.startIndex else { return false }
        return text[..<end].allSatisfy { $0.isLetter || $0.isNumber }
    }

    private func text(ofList list: String) throws -> String {
        let name = list == "-" ? "standard input" : "the list \(list)"
        if list == "-" {
            return try InputList.text(Array(FileHandle.standardInput.readDataToEndOfFile()), of: name)
        }
        let bytes: [UInt8]
        do {
            bytes = try FileSystem.read(list, limit: 1 << 30, accepts: .filesAndStreams)
        } catch {
            throw BatchError(.inputMissing, path: "", detail: error.unreadable(name, option: "--list"))
        }
        return try InputList.text(bytes, of: name)
    }

    /// Reads the files named by options, so that mistakes are reported before processing starts.
    package func check() throws {
        _ = try BatchChoices(of: RecipeRegistry.current.kinds, given: texts)
    }

    /// The batch described by these arguments; models are given by their folders. Where neither a model is named nor an option
    /// is given that needs none, the only package on the search path is used.
    /// - Parameters:
    ///   - version: the program's version.
    ///   - earlier: the batch that the output folder holds: what is not given here stays as it is there, except for the inputs.
    ///   - report: gets a message that names the package that was chosen so.
    package func description(
        version: String,
        continuing earlier: BatchDescription? = nil,
        report: (String) -> Void = { _ in }
    ) throws -> BatchDescription {
        let enabled = enabledKinds(earlier)
        let (given, folders) = try packages(earlier)
        var packages = given
        if packages.isEmpty, enabled.isEmpty {
            let package = try onlyPackage()
            report("Using the only model on the search path: \(package.id) in \(package.folder)")
            packages = [package]
        }
        let choices = try choices(for: packages, enabled, recorded: earlier?.options ?? [:])
        let identifiers = names.identifiers ?? earlier?.identifiers ?? .hash
        let pattern = try names.pattern(identifiers, continuing: earlier)
        var description = BatchDescription(
            version: version,
            models: packages.map {
                .init(
                    id: $0.id,
                    name: $0.name,
                    version: $0.version,
                    digest: $0.digest.hex,
                    isDemonstration: $0.isDemonstration
                )
            },
            options: choices.recorded.merging(identifiers.shown) { $1 }
                .merging(pattern.map { [NamePattern.option: $0.text] } ?? [:]) { $1 },
            inputs: try allInputs(),
            modelPaths: packages.map { absolutePath($0.folder) }
        )
        description.identifiers = identifiers
        description.recipes = choices.recipes.map { $0.kind.task }
        func kept<Value>(_ given: [Value], _ value: [Value]?) -> [Value] { given.isEmpty ? value ?? [] : given }
        description.include = kept(selection.include, earlier?.include)
        description.exclude = kept(selection.exclude, earlier?.exclude)
        description.only = selection.only.isEmpty ? earlier?.only : try routes(packages, folders, choices)
        return description
    }

    /// The packages of the models, those of the earlier batch first, and the folders that their names stand for.
    private func packages(_ earlier: BatchDescription?) throws -> ([ModelPackage], folders: [String: String]) {
        let names = models.model.isEmpty ? earlier?.modelPaths ?? [] : models.model
        var seen: Set<String> = []
        // One folder may be given twice, such as by its name and by its path.
        let loaded = try names.map { try LoadedModels.package($0) }
        let folders = Dictionary(zip(names, loaded.map { absolutePath($0.folder) })) { first, _ in first }
        let given = loaded.filter { seen.insert(absolutePath($0.folder)).inserted }
        let packages = ModelPackage.distinct(given)
        for package in packages where packages.filter({ $0.id == package.id }).count > 1 {
            throw ValidationError(
                "two models have the id \(package.id) and the same version: "
                    + packages.filter { $0.id == package.id }.map(\.folder).joined(separator: ", ")
                    + ". Give only one of them"
            )
        }
        let before = (earlier?.models ?? []).compactMap { model in packages.first { $0.id == model.id } }
        return (before + packages.filter { package in !before.contains { $0.id == package.id } }, folders)
    }

    /// The kinds that process inputs without a model because an option is given.
    private func enabledKinds(_ earlier: BatchDescription?) -> [any RecipeKind.Type] {
        let texts = texts.merging(earlier?.options ?? [:]) { given, _ in given }
        return RecipeRegistry.current.kinds.filter { $0.isEnabled(by: texts) == true }
    }

    /// - Throws: `ValidationError` where the search path has none, or several.
    private func onlyPackage() throws -> ModelPackage {
        let found = ModelPackage.distinct(LoadedModels.usablePackages)
        if found.count == 1 { return found[0] }
        let without = RecipeRegistry.current.kinds.compactMap { kind in
            kind.enablingOption.map { "--\($0) to \(kind.purpose)" }
        }
        let others = "Without a model: \(without.joined(separator: ", "))"
        guard !found.isEmpty else { throw ValidationError("name a model with --model. \(others)") }
        let names = found.map(\.id).joined(separator: ", ")
        throw ValidationError("name a model with --model, such as --model \(found[0].id). Models: \(names). \(others)")
    }

    /// The options of the kinds in use.
    /// - Throws: `ValidationError` for options that no kind in use takes.
    private func choices(
        for packages: [ModelPackage],
        _ enabled: [any RecipeKind.Type],
        recorded: [String: String]
    ) throws -> BatchChoices {
        let tasks = Set(packages.map(\.task))
        let used = RecipeRegistry.current.kinds.filter { kind in
            !tasks.isDisjoint(with: kind.packageTasks) || enabled.contains { $0 == kind }
        }
        try recipes.checkTaken(by: used)
        return try BatchChoices(of: used, recorded: recorded, given: texts)
    }

    /// `--only` with the models' ids, each pattern once.
    /// - Parameter folders: those that the names given to `--model` stand for.
    private func routes(
        _ packages: [ModelPackage],
        _ folders: [String: String],
        _ choices: BatchChoices
    ) throws -> [String]? {
        var routes: [String] = []
        let withoutModel = choices.recipes.filter { $0.kind.settings == nil }.map { $0.kind.task }
        let ids = packages.map(\.id) + withoutModel
        for route in selection.only {
            // The id, or the name given to --model.
            let named = folders[route.model].flatMap { folder in packages.first { absolutePath($0.folder) == folder } }
            guard let id = named?.id ?? ids.first(where: { $0 == route.model }) else {
                let meant = Spelling.nearest(to: route.model, among: ids).map { " Did you mean \($0)?" } ?? ""
                throw ValidationError(
                    "--only names the model \(route.model), which is not in this batch.\(meant) Models: "
                        + ids.joined(separator: ", ")
                )
            }
            let text = "\(id)=\(route.pattern)"
            if !routes.contains(text) { routes.append(text) }
        }
        return routes.isEmpty ? nil : routes
    }

    /// Options with which an existing batch is continued: those of `run` about results, without inputs and models. An option that
    /// is not given keeps its value in the batch.
    package struct Changes: ParsableArguments {
        @OptionGroup(title: BatchChoices.InferenceOptions.title) var inference:
            SectionArguments<BatchChoices.InferenceOptions>
        @OptionGroup var recipes: RecipeArgumentGroups

        package init() {}

        /// Whether any of these options is given, also with the value that it has in the batch.
        package var areGiven: Bool { !given.isEmpty }

        private var given: [String: String] { recipes.given.merging(inference.given) { $1 } }

        /// The description of the batch with these options; the same one if none is given, or none differs.
        /// - Throws: `ValidationError` for options that no recipe of the batch takes; `BatchError` for files named by options that
        ///   cannot be used.
        package func applied(to description: BatchDescription) throws -> BatchDescription {
            guard areGiven else { return description }
            let kinds = try RecipeRegistry.current.kinds(of: description)
            try checkKinds(kinds)
            try recipes.checkTaken(by: kinds)
            let choices = try BatchChoices(of: kinds, recorded: description.options, given: given)
            var result = description
            result.options = choices.recorded.merging(
                description.options.filter { ["identifiers", NamePattern.option].contains($0.key) }
            ) { $1 }
            return result
        }

        /// An option that adds a kind of items to the batch adds inputs, and one that removes it makes items without a recipe.
        private func checkKinds(_ used: [any RecipeKind.Type]) throws {
            for kind in RecipeRegistry.current.kinds {
                let isUsed = used.contains { $0 == kind }
                guard let isEnabled = kind.isEnabled(by: given), isEnabled != isUsed else { continue }
                throw ValidationError(
                    "The batch \(isUsed ? "is started to" : "does not") \(kind.purpose), which resume cannot change. "
                        + "Repeat its `nocturne run` command with this option."
                )
            }
        }
    }

    /// The models of a batch.
    package struct Models: ParsableArguments {
        @Option(
            name: [.customShort("m"), .long],
            parsing: .singleValue,
            help: "A model package: a folder or a name. Repeatable. Default: the only model on the search path.",
            completion: .model
        )
        package var model: [String] = []

        package init() {}

        var given: [String] { model.isEmpty ? [] : ["--model"] }
    }

    /// Which files are inputs, and of which model.
    package struct Selection: ParsableArguments {
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
                valueName: "model=pattern",
                visibility: .more
            ),
            transform: Pattern.parse
        )
        package var only: [Pattern] = []

        package init() {}

        var given: [String] {
            (list == nil ? [] : ["--list"]) + (include.isEmpty ? [] : ["--include"])
                + (exclude.isEmpty ? [] : ["--exclude"]) + (only.isEmpty ? [] : ["--only"])
        }
    }

    /// A model with a pattern for the names of its inputs.
    package struct Pattern: OptionValue, Sendable {
        package static var allowed: String { "a model and a pattern, such as --only 'organs=*_CT*'" }
        let model: String
        let pattern: String

        package init?(argument: String) {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { return nil }
            (model, pattern) = (parts[0], parts[1])
        }
    }
}
