import ArgumentParser

/// Options that belong together: a section of the help, and a part of the options of one or more recipes.
package protocol OptionSection: Hashable, Sendable {
    /// The heading of the section.
    static var title: String { get }

    /// All its options.
    static var options: [ResultOption<Self>] { get }

    /// The defaults.
    init()

    /// Checks what a value alone cannot be checked for.
    /// - Throws: `ValidationError`.
    func check() throws
}

extension OptionSection {
    /// An option of the section.
    package typealias Entry = ResultOption<Self>

    /// Nothing: most values are checked when they are parsed.
    package func check() throws {}

    /// The names of its options, without hyphens.
    package static var optionNames: [String] { options.map(\.name) }
}

/// The options of a section as the argument parser takes them.
package struct SectionArguments<Section: OptionSection>: ParsableArguments, CustomReflectable {
    /// The texts of the options that are given, by name.
    package private(set) var given: [String: String] = [:]

    /// No option is given; the parser makes one before it parses.
    package init() {}

    /// Takes the texts from the parsed command line.
    package init(from decoder: any Decoder) throws {
        let arguments = try decoder.container(keyedBy: OptionArgument.Key.self)
        for option in Section.options { given[option.name] = try option.argument.text(in: arguments) }
    }

    /// The argument parser finds options by reflection.
    package var customMirror: Mirror {
        Mirror(self, children: Section.options.map { (label: "_" + $0.name, value: $0.argument.definition) })
    }
}

/// Options of a batch, such as those of one recipe: sections, some of which other recipes have too.
package protocol RecipeOptions: Hashable, Sendable {
    /// In the order of the help.
    static var sections: [RecipeSection<Self>] { get }

    /// The defaults.
    init()
}

/// A section among others.
package struct RecipeSection<Options: Sendable>: Sendable {
    /// The section that the options come from.
    package let section: any OptionSection.Type
    /// The section's options, applied to the section within these options.
    let options: [ResultOption<Options>]
    /// Checks the section within these options.
    let check: @Sendable (Options) throws -> Void

    /// - Parameter path: where the section is stored.
    package init<Section: OptionSection>(_ path: any WritableKeyPath<Options, Section> & Sendable) {
        section = Section.self
        options = Section.options.map { ResultOption($0, at: path) }
        check = { try $0[keyPath: path].check() }
    }
}

extension RecipeOptions where Self: OptionSection {
    /// Itself, as the only section.
    package static var sections: [RecipeSection<Self>] { [RecipeSection(\Self.self)] }
}

extension RecipeOptions {
    /// The options that a batch has recorded, with changes.
    /// - Parameters:
    ///   - recorded: as ``recorded``.
    ///   - given: texts by name, from the command line.
    /// - Throws: ``OptionArgument/ValueError``; `ValidationError`; `BatchError` for files that cannot be used.
    package init(recorded: [String: String] = [:], given: [String: String] = [:]) throws {
        self.init()
        for section in Self.sections {
            for option in section.options { try option.set(&self, recorded: recorded, given: given) }
        }
        for section in Self.sections { try section.check(self) }
    }

    /// What a batch records: texts by the options' names, without those that have their defaults.
    package var recorded: [String: String] {
        var texts: [String: String] = [:]
        for section in Self.sections {
            for option in section.options { option.record(self, into: &texts) }
        }
        return texts
    }

    /// What results contain, and fingerprints: no path.
    package var inResults: [String: String] { inResults(of: Never?.none) }

    /// What the fingerprint of a source contains.
    /// - Parameter source: nil for one that is refused.
    package func fingerprintTexts(of source: (some Sendable)? = Never?.none) -> [String] {
        inResults(of: source).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }

    /// What the result of a source and its fingerprint contain: no path, and only what concerns the source.
    /// - Parameter source: nil for one that is refused.
    package func inResults(of source: (some Sendable)?) -> [String: String] {
        var texts: [String: String] = [:]
        for section in Self.sections {
            for option in section.options { option.state(self, of: source, in: &texts) }
        }
        return texts
    }
}
