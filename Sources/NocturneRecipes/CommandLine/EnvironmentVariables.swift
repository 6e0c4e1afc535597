package import NocturneSystem

/// The program's environment variables. They are about the machine; options are on the command line or in a profile.
package enum EnvironmentVariables {
    private static let prefix = "NOCTURNE_"

    /// Their meanings by name, with those that hooks and tools of the project have.
    private static let meanings: [String: String] = [
        "NOCTURNE_MODELS": "folders in which models are searched for by name",
        "NOCTURNE_ONNXRUNTIME": "the folder of ONNX Runtime's libraries",
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

    /// What a variable in the environment means.
    package struct Variable: Encodable, Sendable, Equatable {
        /// With the prefix.
        package let name: String
        /// Nil for a variable that the program does not know.
        @Nullable package private(set) var meaning: String?
        /// The known variable that may be meant by an unknown one.
        @Nullable package private(set) var nearest: String?

        fileprivate init(_ name: String) {
            let meaning = meanings[name]
            self.name = name
            self.meaning = meaning
            nearest = meaning == nil ? Spelling.nearest(to: name, among: meanings.keys.sorted()) : nil
        }
    }

    /// All variables of the environment with the program's prefix, by name.
    package static func variables(_ environment: [String: String]) -> [Variable] {
        environment.keys.filter { $0.hasPrefix(prefix) }.sorted().map(Variable.init)
    }
}
