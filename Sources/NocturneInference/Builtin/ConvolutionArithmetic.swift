internal import CNocturneKernels

/// The instructions and the precision used for the convolutions of a network.
struct ConvolutionArithmetic: Sendable {
    /// NK_CONV_ISA_* with flags.
    let instructions: Int32
    /// One of NK_CONV_FLOAT32 and the other precisions.
    let precision: Int32

    init(_ precision: InferencePrecision, limit: InstructionSetLimit) {
        switch precision {
        case .exact:
            instructions = limit.instructions | Int32(NK_CONV_DIRECT)
            self.precision = Int32(NK_CONV_FLOAT32)
        case .float32:
            instructions = limit.instructions
            self.precision = limit.splitsFloat32 ? Int32(NK_CONV_SPLIT) : Int32(NK_CONV_FLOAT32)
        case .bfloat16:
            instructions = limit.instructions
            self.precision = Int32(NK_CONV_BFLOAT16)
        }
    }

    /// The name that the kernels use for it.
    var instructionSet: String {
        nk_conv_instruction_set(instructions, precision).map { String(cString: $0) } ?? "baseline"
    }
}

/// The highest instruction set that the builtin engine may use.
struct InstructionSetLimit: Sendable {
    /// One of NK_CONV_ISA_*.
    let instructions: Int32
    /// Whether float32 operands are split into two of bfloat16 where matrix tiles are faster.
    let splitsFloat32: Bool

    /// Reads `NOCTURNE_ISA`: `baseline`, `avx2`, `avx512`, `avx512-bf16`, `amx` or, for tests, `amx-model`; the last
    /// two also with `-split`. Without it, or with another value, there is no limit.
    init(environment: [String: String]) {
        let name = environment["NOCTURNE_ISA"] ?? ""
        instructions = nk_conv_isa_limited(name)
        splitsFloat32 = name.hasSuffix("-split") && name != "-split"
    }
}
