/// A command line together with the options that a profile and the environment add to it.
package struct MergedArguments: Sendable {
    /// The arguments after the name of the command.
    package let arguments: [String]
    /// The options that were added.
    package let added: [DefaultOption]

    /// - Parameters:
    ///   - arguments: those after the name of the command, without `--profile` and values of flags.
    ///   - given: the long names of the options that the command line has, also of flags that it takes back.
    ///   - table: the options that the command takes from elsewhere.
    ///   - sources: options from elsewhere, the sources of higher rank first. An option in one of them, repeated or not,
    ///     takes the place of what sources of lower rank say about it, and one on the command line that of all.
    package init(_ arguments: [String], given: Set<String>, table: OptionTable, sources: [[DefaultOption]]) {
        var given = given
        var added: [DefaultOption] = []
        for source in sources {
            let taken = source.filter { table[$0.option.name] != nil && !given.contains($0.option.name) }
            added += taken
            given.formUnion(taken.map(\.option.name))
        }
        self.added = added
        self.arguments = added.compactMap(\.argument) + arguments
    }

    /// Where the added options are from that a message names.
    /// - Returns: one line each, such as "NOCTURNE_MEMORY sets --memory."
    package func origins(in message: String) -> [String] {
        added.filter { option in
            message.ranges(of: "--\(option.option.name)").contains { range in
                let next = message[range.upperBound...].first
                return next.map { !$0.isLetter && !$0.isNumber && $0 != "-" } ?? true
            }
        }.map { "\($0.origin) sets --\($0.option.name)." }
    }

    /// Turns flags that are given with a value, such as `--dicom-seg=no`, into what the parser of the command line knows: the flag
    /// alone, or nothing. So a flag of a profile can be taken back.
    /// - Throws: `ValidationError` for another value than yes or no.
    package static func withoutFlagValues(_ arguments: [String], table: OptionTable) throws -> [String] {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        let resolved = try arguments[..<end].compactMap { argument -> String? in
            guard argument.hasPrefix("--"), let place = argument.firstIndex(of: "="),
                let option = table[String(argument[..<place].dropFirst(2))], !option.takesValue
            else { return argument }
            let text = String(argument[place...].dropFirst())
            return try DefaultOption(option, text: text, origin: argument).argument
        }
        return resolved + arguments[end...]
    }

    /// Takes `--profile FILE` out of arguments.
    /// - Returns: the file; nil where there is none. An option without a file is left for the parser.
    package static func takeProfile(from arguments: inout [String]) -> String? {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        guard let place = arguments[..<end].lastIndex(where: { $0 == "--profile" || $0.hasPrefix("--profile=") })
        else { return nil }
        if arguments[place] != "--profile" {
            let file = String(arguments[place].dropFirst("--profile=".count))
            guard !file.isEmpty else { return nil }
            arguments.remove(at: place)
            return file
        }
        guard place + 1 < end, !arguments[place + 1].hasPrefix("-") else { return nil }
        let file = arguments[place + 1]
        arguments.removeSubrange(place...place + 1)
        return file
    }
}
