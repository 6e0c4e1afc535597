package import ArgumentParser

/// A group of command-line options that belongs to one kind of recipe or to several.
package protocol RecipeArguments: ParsableArguments {
    /// The heading of the group in help.
    static var title: String { get }

    /// The options of the group that have been given, such as `--rois`: they are refused when no recipe in use takes them.
    var given: [String] { get }
}

/// The parsed groups of options of all kinds.
package struct ParsedRecipeArguments {
    private var groups: [ObjectIdentifier: any RecipeArguments] = [:]

    package init() {}

    /// The parsed options of one group.
    /// - Precondition: the group is among the arguments of a registered kind.
    package subscript<Group: RecipeArguments>(_ type: Group.Type) -> Group {
        guard let group = groups[ObjectIdentifier(type)] as? Group else {
            preconditionFailure("\(type) is not among the arguments of any registered kind")
        }
        return group
    }

    /// Names of the given options of a group.
    package func given(in type: any RecipeArguments.Type) -> [String] { groups[ObjectIdentifier(type)]?.given ?? [] }

    package mutating func add<Group: RecipeArguments>(_ group: Group) { groups[ObjectIdentifier(Group.self)] = group }
}
