public import ArgumentParser
import Foundation
public import NocturneCore
public import NocturneInference
import NocturneOutput

extension ResultOption where Options: OptionSection {
    /// An option with one value and a default.
    package init<Value: ExpressibleByArgument & Equatable & Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<Options, Value> & Sendable,
        _ help: ArgumentHelp
    ) {
        let standard = Options()[keyPath: path]
        self.init(
            .value(name, default: standard, help),
            // Compared before a text is made: this is done for every item that is found.
            text: { $0[keyPath: path] == standard ? nil : $0[keyPath: path].defaultValueDescription },
            fullText: { $0[keyPath: path].defaultValueDescription },
            take: { $0[keyPath: path] = try $1.value(of: name) }
        )
    }

    /// An option with one value and no default.
    package init<Value: ExpressibleByArgument & Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<Options, Value?> & Sendable,
        _ help: ArgumentHelp
    ) {
        self.init(
            .optional(name, Value.self, help),
            text: { $0[keyPath: path]?.defaultValueDescription },
            take: { $0[keyPath: path] = try $1.value(of: name, as: Value.self) }
        )
    }

    /// An option that can be repeated; its values are recorded with commas between them, which the text of a value cannot have.
    package init<Value: ExpressibleByArgument & Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<Options, [Value]> & Sendable,
        _ help: ArgumentHelp
    ) {
        self.init(
            .repeated(name, Value.self, help),
            text: { options in
                let values = options[keyPath: path]
                return values.isEmpty ? nil : values.map(\.defaultValueDescription).joined(separator: ",")
            },
            take: { options, text in
                options[keyPath: path] = try text.text.split(separator: ",").map {
                    try OptionArgument.Text(text: String($0), result: nil, isGiven: text.isGiven).value(of: name)
                }
            }
        )
    }

    /// A flag, which is not set by default.
    package init(_ flag: String, _ path: any WritableKeyPath<Options, Bool> & Sendable, _ help: ArgumentHelp) {
        self.init(
            .flag(flag, help),
            text: { $0[keyPath: path] ? "yes" : nil },
            take: { $0[keyPath: path] = try $1.value(of: flag, as: OptionArgument.FlagText.self) == .yes }
        )
    }

    /// A file or folder, whose absolute path is recorded and in no result.
    /// - Parameters:
    ///   - result: the text in results if a path is given; nil for none.
    ///   - check: reads a path that is given.
    package init(
        path name: String,
        _ path: any WritableKeyPath<Options, String?> & Sendable,
        _ help: ArgumentHelp,
        result: String? = nil,
        check: @escaping @Sendable (String) throws -> Void = { _ in }
    ) {
        self = ResultOption(
            .optional(name, String.self, help).completed(.file()),
            isPath: result != nil,
            text: { $0[keyPath: path] },
            take: { options, text in
                options[keyPath: path] = text.isGiven ? absolutePath(text.text) : text.text
                if text.isGiven { try check(absolutePath(text.text)) }
            }
        ).stated { $0[keyPath: path] == nil ? nil : result }
    }
}

// Enumerations as option values: the parser rejects other values and lists the allowed ones; help lists them too.

extension EngineChoice: ExpressibleByArgument {}
extension InferenceDevice: ExpressibleByArgument {
    /// Nil for a text that is none of the forms in ``InferenceDevice/list``.
    public init?(argument: String) { self.init(rawValue: argument) }
    /// As on the command line.
    public var defaultValueDescription: String { rawValue }
}
extension InferencePrecision: ExpressibleByArgument {}
extension IdentifierPolicy: ExpressibleByArgument {}
extension PatientFrame: ExpressibleByArgument {}

/// A path that does not depend on the current folder.
package func absolutePath(_ path: String) -> String {
    let expanded = (path as NSString).expandingTildeInPath
    let whole = expanded.hasPrefix("/") ? expanded : FileManager.default.currentDirectoryPath + "/" + expanded
    return (whole as NSString).standardizingPath
}
