internal import CNocturneKernels

/// The instruction sets of the builtin engine. Each gives the same bits on every machine that has it.
public enum InstructionSets {
    /// The environment variable that limits the instruction set.
    public static let variable = "NOCTURNE_ISA"

    /// All that can be asked for, from the most common one to the fastest.
    public static let names = ["baseline", "avx2", "avx512", "avx512-bf16", "amx"]

    /// The best one of this machine, within the limit that the environment states.
    public static func best(environment: [String: String]) -> String {
        let limit = environment[variable] ?? ""
        let instructions = InstructionSetLimit(environment: environment).instructions
        if names.contains(limit), isAvailable(limit) { return limit }
        return names.last { nk_conv_isa_limited($0) == instructions } ?? names[0]
    }

    /// Whether this machine has the instruction set, and the environment does not forbid it.
    public static func isAvailable(_ name: String, environment: [String: String] = [:]) -> Bool {
        guard let place = names.firstIndex(of: name) else { return false }
        if let limit = environment[variable].flatMap(names.firstIndex), limit < place { return false }
        // A limit that the machine does not reach gives the next lower set.
        return place == 0 || nk_conv_isa_limited(name) != nk_conv_isa_limited(names[place - 1])
    }
}
