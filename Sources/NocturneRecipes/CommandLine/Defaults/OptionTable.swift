package import ArgumentParser
import Foundation

/// The options and flags of a command, in the order of its help.
package struct OptionTable: Sendable, Hashable {
    package struct Option: Sendable, Hashable {
        /// The long name, without hyphens.
        package let name: String
        /// The short name.
        package let letter: Character?
        /// False for a flag.
        package let takesValue: Bool
        /// Whether it can be given several times.
        package let isRepeatable: Bool

        package init(_ name: String, letter: Character? = nil, takesValue: Bool = true, isRepeatable: Bool = false) {
            self.name = name
            self.letter = letter
            self.takesValue = takesValue
            self.isRepeatable = isRepeatable
        }
    }

    package private(set) var options: [Option]

    package init(_ options: [Option]) { self.options = options }

    /// The options of several commands, each once.
    package init(of commands: [any ParsableArguments.Type]) {
        options = []
        for option in commands.flatMap(Self.options(of:)) where self[option.name] == nil { options.append(option) }
    }

    /// The option with a long name.
    package subscript(_ name: String) -> Option? { options.first { $0.name == name } }

    package var names: [String] { options.map(\.name) }

    package func without(_ names: some Sequence<String>) -> OptionTable {
        let names = Set(names)
        return OptionTable(options.filter { !names.contains($0.name) })
    }

    /// The long names of the options in arguments, which may have them in their short form.
    package func given(in arguments: some Sequence<String>) -> Set<String> {
        var names: Set<String> = []
        for argument in arguments.prefix(while: { $0 != "--" }) {
            if argument.hasPrefix("--") {
                names.insert(String(argument.dropFirst(2).prefix { $0 != "=" }))
            } else if argument.hasPrefix("-") {
                names.formUnion(letters(argument.dropFirst()))
            }
        }
        return names
    }

    /// The options in one argument such as -qj4: flags, then at most one that takes a value.
    private func letters(_ letters: Substring) -> [String] {
        var names: [String] = []
        for letter in letters {
            guard let option = options.first(where: { $0.letter == letter }) else { break }
            names.append(option.name)
            if option.takesValue { break }
        }
        return names
    }

    private static func options(of command: any ParsableArguments.Type) -> [Option] {
        // What the argument parser itself writes: if this cannot be read, its version does not fit the program.
        let dump = Data(command._dumpHelp().utf8)
        guard let tool = try? JSONDecoder().decode(Dump.self, from: dump) else {
            preconditionFailure("the description of \(command) by the argument parser has an unknown form")
        }
        return (tool.command.arguments ?? []).compactMap(\.option)
    }

    /// The part that is used here of the argument parser's description of a command.
    private struct Dump: Decodable {
        struct Command: Decodable { let arguments: [Argument]? }

        struct Name: Decodable {
            let kind: String
            let name: String
        }

        struct Argument: Decodable {
            let kind: String
            let isRepeating: Bool
            let names: [Name]?

            var option: Option? {
                guard kind != "positional", let long = names?.first(where: { $0.kind == "long" }) else { return nil }
                return Option(
                    long.name,
                    letter: names?.first { $0.kind == "short" }?.name.first,
                    takesValue: kind == "option",
                    isRepeatable: isRepeating
                )
            }
        }

        let command: Command
    }
}
