import ArgumentParser
import NocturneRecipeSupport

/// The sections of options of all kinds of recipes, as one group of a command.
///
/// The sections come from the registry, not from stored properties: a command that includes this group has the options of
/// every registered kind without naming any.
package struct RecipeArgumentGroups: ParsableArguments, CustomReflectable {
    /// The texts of the options that are given, by name.
    package private(set) var given: [String: String] = [:]

    /// Nothing is given.
    package init() {}

    /// Takes the texts of the options of all registered kinds from the parsed command line.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: OptionArgument.Key.self)
        for section in RecipeRegistry.current.sections { try add(section, from: container) }
    }

    private mutating func add<Section: OptionSection>(
        _ section: Section.Type,
        from container: OptionArgument.Arguments
    ) throws {
        // Without the underscore of the mirror's label, which the parser removes as from a property wrapper.
        let key = OptionArgument.Key(Self.name(of: section))
        let group = try container.decode(OptionGroup<SectionArguments<Section>>.self, forKey: key)
        given.merge(group.wrappedValue.given) { $1 }
    }

    /// The argument parser finds options by reflection.
    package var customMirror: Mirror {
        let sections = RecipeRegistry.current.sections
        return Mirror(
            self,
            children: sections.map { (label: "_" + Self.name(of: $0), value: Self.definition(of: $0)) }
        )
    }

    /// - Throws: `ValidationError` for options that none of the kinds takes.
    func checkTaken(by used: [any RecipeKind.Type]) throws {
        let registry = RecipeRegistry.current
        for section in registry.sections {
            // A flag that is taken back needs nothing.
            let given = section.optionNames.filter {
                self.given[$0].map { $0 != OptionArgument.FlagText.no.rawValue } ?? false
            }
            func accepts(_ kind: any RecipeKind.Type) -> Bool { kind.sections.contains { $0 == section } }
            guard !given.isEmpty, !used.contains(where: accepts) else { continue }
            let taking = registry.kinds.filter(accepts)
            let purposes = taking.filter { $0.settings != nil }.map { $0.purpose }
            let model = purposes.isEmpty ? [] : ["a model to " + purposes.joined(separator: " or to ")]
            let needs = model + taking.compactMap { $0.enablingOption }.map { "--" + $0 }
            throw ValidationError(
                "\(given.map { "--" + $0 }.joined(separator: ", ")) needs \(needs.joined(separator: ", or ")), and "
                    + (needs.count > 1 ? "none of them is given" : "none is given")
                    + ". Leave it out, or add " + (model.isEmpty ? "what it needs" : "such a model with --model")
            )
        }
    }

    /// With the type that it is nested in: several recipes have a section `Options`.
    private static func name(of section: any OptionSection.Type) -> String { String(reflecting: section) }

    private static func definition<Section: OptionSection>(of section: Section.Type) -> Any {
        OptionGroup<SectionArguments<Section>>(title: Section.title)
    }
}
