package import ArgumentParser

/// An option value that describes the allowed texts in its error message.
package protocol OptionValue: ExpressibleByArgument {
    /// The allowed values, as in "expected …".
    static var allowed: String { get }
}

extension OptionValue {
    /// For the `transform` of an option: the parser puts the option and the value before this message.
    package static func parse(_ text: String) throws -> Self {
        guard let value = Self(argument: text) else { throw ValidationError("expected \(allowed)") }
        return value
    }
}
