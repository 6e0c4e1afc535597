package import ArgumentParser
package import NocturneOutput
import NocturneRecipeSupport

extension BatchArguments {
    /// How results name inputs.
    package struct Names: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "How names of inputs appear in results: keep shows them, hash replaces UIDs and the patient's name, number and birth "
                    + "date by hashes, none leaves them out. "
                    + "DICOM objects name the patient like their source in any case. Default: hash.",
                visibility: .more
            )
        )
        /// Nil where it is not given: a batch that is continued keeps its policy.
        package var identifiers: IdentifierPolicy?

        @Option(
            help: ArgumentHelp(
                "Name items by this pattern instead of their file or folder, such as '{1}_{3}': {1}, {2}, … are the levels of the "
                    + "path below the input, {0} is the input, {name} the last level; {patient}, {study} and {series} are from the "
                    + "header of a DICOM series. --identifiers applies to all of them.",
                valueName: "pattern",
                visibility: .more
            ),
            transform: parsed
        )
        /// Nil where it is not given.
        package var name: NamePattern?

        /// Nothing is given.
        package init() {}

        var given: [String] { (identifiers == nil ? [] : ["--identifiers"]) + (name == nil ? [] : ["--name"]) }

        /// - Throws: `ValidationError` for a text without a known part in braces.
        private static func parsed(_ text: String) throws -> NamePattern {
            guard let pattern = NamePattern(text) else {
                throw ValidationError(
                    "expected one or more of {0}, {1}, {2}, …, {name}, {patient}, {study} and {series}"
                )
            }
            return pattern
        }

        /// The pattern of the batch. Names stay, so that one rule holds for all of its items.
        func pattern(_ identifiers: IdentifierPolicy, continuing earlier: BatchDescription?) throws -> NamePattern? {
            // The same pattern again changes nothing, so that a command can be repeated as it was.
            if let name, let earlier, name != earlier.namePattern {
                let before = earlier.namePattern.map { "--name \($0.text)" } ?? "no --name"
                throw ValidationError(
                    "The batch was started with \(before), and names of items stay: leave --name out, or use another output folder."
                )
            }
            let pattern = name ?? earlier?.namePattern
            guard pattern == nil || identifiers != .none else {
                throw ValidationError(
                    "--name takes names from the inputs, which --identifiers none withholds: give one of them."
                )
            }
            return pattern
        }
    }
}
