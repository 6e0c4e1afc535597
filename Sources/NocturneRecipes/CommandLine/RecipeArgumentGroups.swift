import ArgumentParser
package import NocturneRecipeSupport

/// The option groups of all kinds of recipes, as one group of a command.
///
/// The groups come from the registry, not from stored properties: a command that includes this group has the options of
/// every registered kind without naming any.
package struct RecipeArgumentGroups: ParsableArguments, CustomReflectable {
    /// Empty until a command line is parsed.
    package private(set) var parsed = ParsedRecipeArguments()

    package init() {}

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        for type in RecipeRegistry.current.arguments { try add(type, from: container) }
    }

    private mutating func add<Group: RecipeArguments>(
        _ type: Group.Type,
        from container: KeyedDecodingContainer<Key>
    ) throws {
        let key = Key(stringValue: Self.name(of: type))
        parsed.add(try container.decode(OptionGroup<Group>.self, forKey: key).wrappedValue)
    }

    /// The argument parser finds options by reflection.
    package var customMirror: Mirror {
        let types = RecipeRegistry.current.arguments
        return Mirror(self, children: types.map { (label: "_" + Self.name(of: $0), value: Self.definition(of: $0)) })
    }

    /// - Throws: `ValidationError` for options that none of the kinds takes.
    func checkTaken(by used: [any RecipeKind.Type]) throws {
        let registry = RecipeRegistry.current
        for group in registry.arguments {
            let given = parsed.given(in: group)
            func accepts(_ kind: any RecipeKind.Type) -> Bool { kind.arguments.contains { $0 == group } }
            guard !given.isEmpty, !used.contains(where: accepts) else { continue }
            let purposes = registry.kinds.filter { accepts($0) && $0.settings != nil }.map { $0.purpose }
            throw ValidationError(
                "\(given.joined(separator: ", ")) needs a model to \(purposes.joined(separator: " or to ")); "
                    + "none is given"
            )
        }
    }

    private static func name(of type: any RecipeArguments.Type) -> String { String(describing: type) }

    private static func definition<Group: RecipeArguments>(of type: Group.Type) -> Any {
        OptionGroup<Group>(title: Group.title)
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
