internal import CNocturneKernels

/// The instructions and the precision used for the convolutions of a network.
struct ConvolutionArithmetic: Sendable {
    /// NK_CONV_ISA_* with flags.
    let instructions: Int32
    /// One of NK_CONV_FLOAT32 and the other precisions.
    let precision: Int32

    /// - Parameter limit: see ``InstructionSets/limit(environment:)``.
    init(_ precision: InferencePrecision, limit: Int32) {
        switch precision {
        case .exact:
            instructions = limit | Int32(NK_CONV_DIRECT)
            self.precision = Int32(NK_CONV_FLOAT32)
        case .float32:
            instructions = limit
            self.precision = Int32(NK_CONV_SPLIT)
        case .bfloat16:
            instructions = limit
            self.precision = Int32(NK_CONV_BFLOAT16)
        }
    }

    /// The name that the kernels use for it.
    var instructionSet: String {
        nk_conv_instruction_set(instructions, precision).map { String(cString: $0) } ?? "baseline"
    }
}

/// The instruction sets of the builtin engine. Each gives the same bits on every machine that has it.
public enum InstructionSets {
    /// The environment variable that limits the instruction set.
    public static let variable = "NOCTURNE_ISA"

    /// All that can be asked for, from the most common one to the fastest.
    public static let names = ["baseline", "avx2", "avx512", "avx512-bf16", "amx"]

    /// Those with products of bfloat16.
    public static let multiplyBfloat16 = ["avx512-bf16", "amx"]

    /// Why a value of ``variable`` is refused; nil for one that is known, and for an empty one, which sets no limit.
    public static func refusal(of value: String) -> String? {
        guard !value.isEmpty, !names.contains(value), value != testModel else { return nil }
        return "There is no instruction set \(value); there are \(names.joined(separator: ", ")). "
            + "Correct \(variable), or unset it."
    }

    /// Computes as AMX on machines without it, for tests.
    private static let testModel = "amx-model"

    /// The best one of this machine, within the limit that the environment states.
    public static func best(environment: [String: String]) -> String {
        let limit = environment[variable] ?? ""
        let instructions = Self.limit(environment: environment)
        if names.contains(limit), isAvailable(limit) { return limit }
        // Limits above what the machine has give the same.
        return names.first { nk_conv_isa_limited($0) == instructions } ?? names[0]
    }

    /// Whether this machine has the instruction set, and the environment does not forbid it.
    public static func isAvailable(_ name: String, environment: [String: String] = [:]) -> Bool {
        guard let place = names.firstIndex(of: name) else { return false }
        if let limit = environment[variable].flatMap(names.firstIndex), limit < place { return false }
        // A limit that the machine does not reach gives the next lower set.
        return place == 0 || nk_conv_isa_limited(name) != nk_conv_isa_limited(names[place - 1])
    }

    /// The highest instruction set that the builtin engine may use, one of NK_CONV_ISA_*.
    ///
    /// Reads `NOCTURNE_ISA`: `baseline`, `avx2`, `avx512`, `avx512-bf16`, `amx` or, for tests, `amx-model`. Without it, or
    /// with another value, there is no limit.
    static func limit(environment: [String: String]) -> Int32 { nk_conv_isa_limited(environment[variable] ?? "") }
}
