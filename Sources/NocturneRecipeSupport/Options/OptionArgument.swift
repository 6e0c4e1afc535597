package import ArgumentParser

/// How the argument parser takes an option: one of its property wrappers, made from a name and a help, in which it is known
/// whether the option was given.
package struct OptionArgument: Sendable {
    /// Without hyphens.
    let name: String
    /// Whether the short help has it.
    var isMain = false
    /// What a shell offers for the value; nil for what the type of the value offers.
    var completion: CompletionKind?
    private let help: ArgumentHelp
    private let wrapper: @Sendable (Definition) -> Any
    private let read: @Sendable (Arguments, Key) throws -> String?

    /// The parsed command line, by the names of its options.
    package typealias Arguments = KeyedDecodingContainer<Key>

    /// What a property wrapper is made of.
    struct Definition {
        let name: NameSpecification
        let help: ArgumentHelp
        let completion: CompletionKind?
    }

    /// The property wrapper before parsing.
    var definition: Any {
        var help = help
        help.visibility = isMain ? .default : .more
        return wrapper(Definition(name: .customLong(name), help: help, completion: completion))
    }

    /// The text on the command line; nil where the option is not given.
    func text(in arguments: Arguments) throws -> String? { try read(arguments, Key(name)) }

    /// The same argument with another completion.
    package func completed(_ completion: CompletionKind) -> Self {
        var copy = self
        copy.completion = completion
        return copy
    }

    private init(
        _ name: String,
        _ help: ArgumentHelp,
        wrapper: @escaping @Sendable (Definition) -> Any,
        read: @escaping @Sendable (Arguments, Key) throws -> String?
    ) {
        self.name = name
        self.help = help
        self.wrapper = wrapper
        self.read = read
    }

    /// An argument with one value and a default.
    package static func value<Value: ExpressibleByArgument & Sendable>(
        _ name: String,
        default value: Value,
        _ help: ArgumentHelp
    ) -> Self {
        OptionArgument(
            name,
            help,
            wrapper: {
                Option(wrappedValue: GivenText(default: value), name: $0.name, help: $0.help, completion: $0.completion)
            },
            read: { try $0.decode(Option<GivenText<Value>>.self, forKey: $1).wrappedValue.text }
        )
    }

    /// An argument with one value, and none by default.
    package static func optional<Value: ExpressibleByArgument & Sendable>(
        _ name: String,
        _ type: Value.Type,
        _ help: ArgumentHelp
    ) -> Self {
        OptionArgument(
            name,
            help,
            // A type that describes its values gives the message itself; the parser's own message would list nothing.
            wrapper: {
                guard let allowed = (Value.self as? any OptionValue.Type)?.allowed else {
                    return Option<GivenText<Value>?>(name: $0.name, help: $0.help, completion: $0.completion)
                }
                return Option<GivenText<Value>?>(name: $0.name, help: $0.help, completion: $0.completion) {
                    try GivenText(describedAs: allowed, $0)
                }
            },
            read: { try $0.decode(Option<GivenText<Value>?>.self, forKey: $1).wrappedValue?.text }
        )
    }

    /// Values may begin with a hyphen, such as negative numbers. Several are joined by commas.
    package static func repeated<Value: ExpressibleByArgument & Sendable>(
        _ name: String,
        _ type: Value.Type,
        _ help: ArgumentHelp
    ) -> Self {
        OptionArgument(
            name,
            help,
            wrapper: {
                guard let allowed = (Value.self as? any OptionValue.Type)?.allowed else {
                    return Option<[GivenText<Value>]>(
                        wrappedValue: [],
                        name: $0.name,
                        parsing: .unconditionalSingleValue,
                        help: $0.help,
                        completion: $0.completion
                    )
                }
                return Option<[GivenText<Value>]>(
                    wrappedValue: [],
                    name: $0.name,
                    parsing: .unconditionalSingleValue,
                    help: $0.help,
                    completion: $0.completion
                ) { try GivenText(describedAs: allowed, $0) }
            },
            read: {
                let texts = try $0.decode(Option<[GivenText<Value>]>.self, forKey: $1).wrappedValue.compactMap(\.text)
                return texts.isEmpty ? nil : texts.joined(separator: ",")
            }
        )
    }

    /// `--name` and `--no-name`; the later one counts.
    package static func flag(_ name: String, _ help: ArgumentHelp) -> Self {
        OptionArgument(
            name,
            help,
            wrapper: { Flag<Bool?>(name: $0.name, inversion: .prefixedNo, help: $0.help) },
            read: {
                try $0.decode(Flag<Bool?>.self, forKey: $1).wrappedValue.map { ($0 ? FlagText.yes : .no).rawValue }
            }
        )
    }
}

extension ArgumentVisibility {
    /// Of options that the short help leaves out.
    package static var more: ArgumentVisibility { ShortHelp.isShown ? .hidden : .default }
}

/// The help of a command with the options that most people need; all else that is made from options has all of them.
package enum ShortHelp {
    /// Set while a help is made. A task local, since the parser asks for the definitions of options without a context.
    @TaskLocal package static var isShown = false

    /// The heading of the options with which a command begins.
    package static let title = "Main options"
}

extension OptionArgument {
    /// A flag as a text.
    package enum FlagText: String, CaseIterable, ExpressibleByArgument { case yes, no }

    /// The text of an option's value.
    package struct Text: Sendable {
        /// As on the command line, or in a description.
        package let text: String
        /// What results state of it, where it is recorded.
        package let result: String?
        /// Whether it comes from the command line: files that it names are read and checked.
        package let isGiven: Bool

        /// The value.
        /// - Throws: ``OptionArgument/ValueError``.
        func value<Value: ExpressibleByArgument>(
            of name: String,
            as type: Value.Type = Value.self
        ) throws(ValueError) -> Value {
            guard let value = Value(argument: text) else {
                throw ValueError(option: name, value: text, allowed: Value.allValueStrings)
            }
            return value
        }
    }

    /// A recorded option has a value that this version does not know.
    package struct ValueError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The name, without hyphens.
        package let option: String
        /// The text that was recorded.
        package let value: String
        /// Empty where they cannot be listed.
        package let allowed: [String]

        /// For people: the option, the value, and the allowed ones where they can be listed.
        package var description: String {
            let expected = allowed.isEmpty ? "" : "; expected one of \(allowed.joined(separator: ", "))"
            return "the option \(option) has the value \"\(value)\"" + expected
        }
    }

    /// A name as the key of a value: of an option, or of a section.
    package struct Key: CodingKey {
        /// The name.
        package let stringValue: String
        /// Nil: there are no positions.
        package var intValue: Int? { nil }

        /// Never nil, in contrast to that of `CodingKey`.
        package init(_ name: String) { stringValue = name }
        /// Any name is a key.
        package init(stringValue: String) { self.stringValue = stringValue }
        /// Nil for every number.
        package init?(intValue: Int) { nil }
    }

    /// A value on the command line with its text, which a default does not have.
    private struct GivenText<Value: ExpressibleByArgument & Sendable>: ExpressibleByArgument, Sendable {
        let text: String?
        private let value: Value

        init(default value: Value) { (self.value, text) = (value, nil) }

        init?(argument: String) {
            guard let value = Value(argument: argument) else { return nil }
            (self.value, text) = (value, argument)
        }

        /// The parser puts the option and the value before the error.
        init(describedAs allowed: String, _ argument: String) throws {
            guard let given = Self(argument: argument) else { throw ValidationError("expected \(allowed)") }
            self = given
        }

        var defaultValueDescription: String { value.defaultValueDescription }
        static var allValueStrings: [String] { Value.allValueStrings }
        static var allValueDescriptions: [String: String] { Value.allValueDescriptions }
        static var defaultCompletionKind: CompletionKind { Value.defaultCompletionKind }
    }
}
