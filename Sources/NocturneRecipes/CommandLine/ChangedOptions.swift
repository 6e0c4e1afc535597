package import ArgumentParser
package import NocturneBatch
package import NocturneInference
import NocturneRecipeSupport
import NocturneSystem

/// Options with which an existing batch is continued: those of `run` about results, without inputs and models. An option that
/// is not given keeps its value in the batch.
package struct ChangedOptions: ParsableArguments {
    @Option(help: "Engine that runs the networks. Default: as in the batch.")
    package var engine: EngineChoice?

    @Option(help: "Arithmetic of the networks. Default: as in the batch.")
    package var precision: InferencePrecision?

    @OptionGroup package var recipes: RecipeArgumentGroups

    package init() {}

    /// Whether any of these options is on a command line, also with the value that it has by default.
    package static func areGiven(in arguments: [String] = CommandLine.arguments) -> Bool {
        let help = helpMessage(columns: 200)
        return names(in: arguments).contains { help.contains("--\($0)") }
    }

    private static func names(in arguments: [String]) -> Set<String> {
        Set(arguments.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2).prefix { $0 != "=" }) })
    }

    /// The description of the batch with these options; the same one if none is given, or none differs.
    /// - Parameter arguments: the command line, which tells options that are not given from those with the default's value.
    /// - Throws: `ValidationError` for options that no recipe of the batch takes; `BatchError` for files named by options that
    ///   cannot be used.
    package func applied(
        to description: BatchDescription,
        arguments: [String] = CommandLine.arguments
    ) throws -> BatchDescription {
        let registry = RecipeRegistry.current
        let names = Self.names(in: arguments)
        // Batches of 0.1.0 have no record of their kinds; their packages name them.
        let tasks =
            description.values == nil ? Set(try description.modelPaths.map(LoadedModels.package).map(\.task)) : []
        let before = try BatchChoices(description, tasks: tasks, registry)
        var choices = before
        choices.inference.engine = engine ?? before.inference.engine
        choices.inference.precision = precision ?? before.inference.precision
        choices.recipes = try before.recipes.map { try changed($0.kind, $0.value, names) }
        try checkKinds(of: choices)
        try recipes.checkTaken(by: choices.recipes.map(\.kind))
        guard choices.shown != before.shown else { return description }
        var result = description
        result.options = choices.shown
        result.values = try choices.values
        return result
    }

    private func changed<Kind: RecipeKind>(
        _ kind: Kind.Type,
        _ value: JSONValue,
        _ names: Set<String>
    ) throws -> ChosenRecipe {
        let recorded = try Kind.Options(recorded: value)
        // A kind without a model is used by the batch as one with a model is.
        guard let given = try kind.options(from: recipes.parsed, hasModels: true) else {
            return try ChosenRecipe(kind, recorded)
        }
        return try ChosenRecipe(kind, recorded.taking(names, from: given))
    }

    /// An option that adds a kind of items to the batch adds inputs.
    private func checkKinds(of choices: BatchChoices) throws {
        for kind in RecipeRegistry.current.kinds
        where kind.settings == nil && !choices.recipes.contains(where: { $0.kind.task == kind.task }) {
            guard try kind.options(from: recipes.parsed, hasModels: false) != nil else { continue }
            throw ValidationError("The batch does not \(kind.purpose): start a batch in another folder for that.")
        }
    }
}

extension RecipeOptions {
    /// These options, with those of another value that have one of the command-line names.
    ///
    /// Which members of the encoded form an option sets is found out from ``shown``: a member is taken when nothing but
    /// options of these names changes by that.
    fileprivate func taking(_ names: Set<String>, from other: Self) throws -> Self {
        var result = self
        var form = try JSONValue(encoding: self)
        let target = try JSONValue(encoding: other)
        for path in form.differences(from: target) {
            let candidate = form.replacing(path[...], by: target)
            guard let options = try? Self(recorded: candidate) else { continue }
            let changed = Set(options.shown.keys).union(result.shown.keys).filter {
                options.shown[$0] != result.shown[$0]
            }
            let isGiven = changed.allSatisfy { key in names.contains { key == $0 || key.hasPrefix($0 + "-") } }
            guard isGiven, !changed.isEmpty else { continue }
            (result, form) = (options, candidate)
        }
        return result
    }
}

extension JSONValue {
    /// The paths of the members that differ, objects taken apart.
    fileprivate func differences(from other: JSONValue) -> [[String]] {
        guard case .object(let members) = self, case .object(let others) = other else {
            return self == other ? [] : [[]]
        }
        return Set(members.keys).union(others.keys).sorted().flatMap { key in
            (members[key] ?? .null).differences(from: others[key] ?? .null).map { [key] + $0 }
        }
    }

    /// With the value that `other` has at a path.
    fileprivate func replacing(_ path: ArraySlice<String>, by other: JSONValue) -> JSONValue {
        guard let key = path.first, case .object(var members) = self, case .object(let others) = other else {
            return other
        }
        members[key] = others[key].map { (members[key] ?? .null).replacing(path.dropFirst(), by: $0) } ?? .null
        return .object(members)
    }
}
