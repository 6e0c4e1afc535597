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
