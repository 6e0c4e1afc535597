internal import CNocturneKernels

/// What convolutions of a network are to be computed with.
struct ConvolutionArithmetic: Sendable {
    /// NK_CONV_ISA_* with flags.
    let instructions: Int32
    /// NK_CONV_FLOAT32 and so on.
    let precision: Int32

    init(_ precision: InferencePrecision) {
        switch precision {
        case .exact:
            instructions = Int32(NK_CONV_ISA_AUTO) | Int32(NK_CONV_DIRECT)
            self.precision = Int32(NK_CONV_FLOAT32)
        case .float32:
            instructions = Int32(NK_CONV_ISA_AUTO)
            self.precision = Int32(NK_CONV_FLOAT32)
        case .bfloat16:
            instructions = Int32(NK_CONV_ISA_AUTO)
            self.precision = Int32(NK_CONV_BFLOAT16)
        }
    }

    /// The kernels' own name for it.
    var instructionSet: String {
        nk_conv_instruction_set(instructions, precision).map { String(cString: $0) } ?? "baseline"
    }
}
