/// Networks of convolutions by Nocturne's own kernels: deterministic, bounded in memory, no library at run time but
/// OpenBLAS.
public struct BuiltinEngine: InferenceEngine {
    private let limit: InstructionSetLimit

    /// - Parameter environment: where `NOCTURNE_ISA` may name the highest instruction set to use (`baseline`, `avx2`,
    ///   `avx512`, `avx512-bf16`, `amx`), for comparisons and tests; without it, the best one of this processor is used.
    public init(environment: [String: String] = [:]) {
        limit = InstructionSetLimit(environment: environment)
    }

    public var name: String { "builtin" }

    /// What ``load(onnx:precision:)`` takes.
    public static let precisions: [InferencePrecision] = [.exact, .float32, .bfloat16]

    public var precisions: [InferencePrecision] { Self.precisions }
    public var distinguishesExact: Bool { true }

    public func lack(for network: String) throws -> String? {
        do {
            let missing = GraphBinder.unsupportedOperators(try ONNXReader.read(network))
            return missing.isEmpty ? nil : "does not have \(missing.joined(separator: ", "))"
        } catch ModelFormatError.externalData {
            return "does not follow weights into other files"
        }
    }

    /// ONNX operators this engine has, sorted.
    public static var operators: [String] { GraphBinder.handlers.keys.sorted() }

    /// Reads and checks a network. Costs twice the file's size in memory for a moment, once afterwards.
    ///
    /// - Parameter precision: `exact` is the plain sum of float32 products in a fixed order. `float32` may use minimal
    ///   filtering. `bfloat16` rounds operands of
    ///   convolutions to bfloat16 and sums in float32; a processor without such products multiplies the rounded operands as
    ///   float32, which ``LoadedNetwork/instructionSet`` says. All but convolutions is float32 in each of them.
    public func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork {
        guard Self.precisions.contains(precision) else {
            throw ModelFormatError.unsupportedPrecision(asked: precision, offered: Self.precisions)
        }
        let graph = try ONNXReader.read(path)
        let missing = GraphBinder.unsupportedOperators(graph)
        guard missing.isEmpty else { throw ModelFormatError.unsupportedOperators(missing) }
        return BuiltinNetwork(graph, precision: precision, limit: limit)
    }
}
