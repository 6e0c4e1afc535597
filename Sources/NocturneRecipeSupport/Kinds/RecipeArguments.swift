package import ArgumentParser

/// A group of command-line options used by one or more kinds of recipe.
package protocol RecipeArguments: ParsableArguments {
    /// The heading of the group in the help text.
    static var title: String { get }

    /// Names of the options of this group on the command line, such as `--rois`. They are refused unless a recipe in
    /// use takes them.
    var given: [String] { get }
}

/// The parsed option groups of all kinds.
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

    /// Names of the options of a group on the command line.
    package func given(in type: any RecipeArguments.Type) -> [String] { groups[ObjectIdentifier(type)]?.given ?? [] }

    package mutating func add<Group: RecipeArguments>(_ group: Group) { groups[ObjectIdentifier(Group.self)] = group }
}
