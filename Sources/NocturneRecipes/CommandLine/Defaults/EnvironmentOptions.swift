package import NocturneSystem

/// Environment variables that set options: `NOCTURNE_` and the option's name in capital letters, with underscores.
package enum EnvironmentOptions {
    private static let prefix = "NOCTURNE_"

    /// The variable that names a profile.
    package static let profile = "NOCTURNE_PROFILE"

    /// Variables with other meanings, and those that hooks and tools of the project have.
    package static let others: [String: String] = [
        "NOCTURNE_MODELS": "folders in which models are searched for by name",
        "NOCTURNE_OPENVINO": "the folder of OpenVINO's libraries",
        "NOCTURNE_NIIVUE": "the folder of the viewer for review pages",
        "NOCTURNE_ISA": "the highest instruction set to use",
        "NOCTURNE_FAULT": "faults for tests; a run without --fault-injection is refused",
        "NOCTURNE_BENCH_OUTPUT": "a file for the output of a network, for benchmarks",
        "NOCTURNE_SAMPLES": "the samples of nocturne-demo",
        "NOCTURNE_PROGRAM": "the program of nocturne-demo",
        "NOCTURNE_STRICT": "warnings are errors in builds",
    ].merging(hooks.map { (prefix + $0, "given to commands of --on-item and --on-end") }) { $1 }

    /// What the commands of a user are given, without the prefix.
    private static let hooks = [
        "OUTPUT", "ITEM", "STATE", "REASON", "FOLDER", "EXIT_CODE", "INPUTS", "COMPLETED", "FAILED", "SKIPPED",
        "CANCELLED", "QUARANTINED", "NOT_REACHED",
    ]

    /// The variable of an option.
    package static func variable(_ name: String) -> String {
        prefix + name.uppercased().replacing("-", with: "_")
    }

    /// The options that variables set. An empty variable sets none; several values of a repeatable option are on lines of
    /// their own.
    /// - Throws: `ValidationError` for a flag with another value than yes or no.
    package static func options(_ environment: [String: String], known: OptionTable) throws -> [DefaultOption] {
        try settable(known).flatMap { option -> [DefaultOption] in
            let name = variable(option.name)
            guard let text = environment[name], !text.isEmpty else { return [] }
            let values = option.isRepeatable ? text.split(separator: "\n").map(String.init) : [text]
            return try values.map { try DefaultOption(option, text: $0, origin: name) }
        }
    }

    /// What a variable in the environment means.
    package struct Variable: Encodable, Sendable, Equatable {
        package let name: String
        /// Nil for a variable that is not for an option.
        @Nullable package private(set) var option: String?
        /// Nil for one that has none.
        @Nullable package private(set) var meaning: String?
        /// The known variable that may be meant by an unknown one.
        @Nullable package private(set) var nearest: String?

        package init(_ name: String, option: String? = nil, meaning: String? = nil, nearest: String? = nil) {
            self.name = name
            _option = Nullable(wrappedValue: option)
            _meaning = Nullable(wrappedValue: meaning)
            _nearest = Nullable(wrappedValue: nearest)
        }

        package var isKnown: Bool { option != nil || meaning != nil }
    }

    /// All variables of the environment with the program's prefix, by name.
    package static func variables(_ environment: [String: String], known: OptionTable) -> [Variable] {
        let options = Dictionary(
            uniqueKeysWithValues: settable(known).map { (variable($0.name), "--\($0.name)") } + [(profile, "--profile")]
        )
        return environment.keys.filter { $0.hasPrefix(prefix) }.sorted().map { name in
            if let meaning = others[name] { return Variable(name, meaning: meaning) }
            if let option = options[name] { return Variable(name, option: option) }
            let nearest = Spelling.nearest(to: name, among: (Array(options.keys) + others.keys).sorted())
            return Variable(name, nearest: nearest)
        }
    }

    /// Whether there may be a variable for an option.
    package static func isUsed(_ environment: [String: String]) -> Bool {
        environment.keys.contains { $0.hasPrefix(prefix) && others[$0] == nil }
    }

    private static func settable(_ known: OptionTable) -> [OptionTable.Option] {
        known.without(DefaultOption.onlyOnCommandLine).options.filter { others[variable($0.name)] == nil }
    }
}
