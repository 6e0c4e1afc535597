/// Networks of convolutions by Nocturne's own kernels: deterministic, bounded in memory, no library at run time but
/// OpenBLAS.
public struct BuiltinEngine: InferenceEngine {
    public init() {}

    public var name: String { "builtin" }

    /// What ``load(onnx:precision:)`` takes.
    public static let precisions: [InferencePrecision] = [.exact, .float32, .bfloat16]

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
        return BuiltinNetwork(graph, precision: precision)
    }
}
