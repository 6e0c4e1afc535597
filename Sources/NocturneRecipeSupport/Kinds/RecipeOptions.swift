import NocturneBatch
package import NocturneSystem

/// The options of one recipe in one batch, stored in the journal in encoded form and never inferred from text.
package protocol RecipeOptions: Codable, Hashable, Sendable {
    /// Values by command-line name, as in `batch.json` and for the comparison of runs.
    var shown: [String: String] { get }

    /// The default of every option.
    init()

    /// Decodes the format of version 0.1.0.
    /// - Returns: nil when the batch does not use this recipe.
    /// - Throws: ``OptionValueError``.
    init?(_ options: OptionsOfVersion1) throws(OptionValueError)
}

extension RecipeOptions {
    /// Decodes recorded options. Those that a later version has added have their defaults.
    package init(recorded: JSONValue) throws {
        guard case .object(let members) = recorded, case .object(let defaults) = try JSONValue(encoding: Self()) else {
            self = try recorded.decoded()
            return
        }
        self = try JSONValue.object(defaults.merging(members) { $1 }).decoded()
    }
}

/// The options of a batch started by Nocturne 0.1.0: texts by command-line name, for all recipes together.
package struct OptionsOfVersion1: Sendable {
    private let texts: [String: String]

    package init(_ texts: [String: String]) { self.texts = texts }

    /// The text of an option; nil if it was not given.
    package subscript(_ name: String) -> String? { texts[name] }

    /// The value of an enumeration option; nil if it was not given.
    package func value<Value: RawRepresentable & CaseIterable>(
        _ name: String,
        as type: Value.Type = Value.self
    ) throws(OptionValueError) -> Value? where Value.RawValue == String {
        guard let text = texts[name] else { return nil }
        guard let value = Value(rawValue: text) else {
            let allowed = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw OptionValueError(option: name, value: text, allowed: "one of \(allowed)")
        }
        return value
    }

    /// The value of a numeric option; nil if it was not given.
    package func number(_ name: String) throws(OptionValueError) -> Double? {
        guard let text = texts[name] else { return nil }
        guard let number = Double(text) else { throw OptionValueError(option: name, value: text, allowed: "a number") }
        return number
    }

    /// Whether the option was given; 0.1.0 stored "yes".
    package func flag(_ name: String) throws(OptionValueError) -> Bool {
        guard let text = texts[name] else { return false }
        guard text == "yes" else { throw OptionValueError(option: name, value: text, allowed: "yes") }
        return true
    }
}

/// A recorded option has a value unknown to this version.
package struct OptionValueError: Error, Hashable, Sendable, CustomStringConvertible {
    package let option: String
    package let value: String
    package let allowed: String

    package init(option: String, value: String, allowed: String) {
        self.option = option
        self.value = value
        self.allowed = allowed
    }

    package var description: String { "the option \(option) has the value \"\(value)\"; expected \(allowed)" }
}
