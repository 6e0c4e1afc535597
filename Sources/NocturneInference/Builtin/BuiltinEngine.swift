internal import NocturneSystem

/// Runs convolutional networks with Nocturne's own kernels: deterministic, with bounded memory, and with OpenBLAS as
/// the only run-time library.
public struct BuiltinEngine: InferenceEngine {
    private let limit: Int32
    private var weights = PackedWeights()

    /// - Parameter environment: `NOCTURNE_ISA` may name the highest instruction set to use (`baseline`, `avx2`,
    ///   `avx512`, `avx512-bf16`, `amx`), for comparisons and tests; without it, the best one of this processor is
    ///   used.
    public init(environment: [String: String] = [:]) {
        limit = InstructionSets.limit(environment: environment)
    }

    /// In the registry.
    public static let kind = InferenceEngineKind(
        name: "builtin",
        title: "Nocturne's own kernels",
        needsInstallation: false,
        make: { BuiltinEngine(environment: $0) }
    )

    /// `builtin`
    public var name: String { Self.kind.name }

    /// The engine with another limit of packed weights.
    public func sharing(_ weights: PackedWeights) -> any InferenceEngine {
        var engine = self
        engine.weights = weights
        return engine
    }

    /// The precisions that ``load(onnx:precision:)`` accepts.
    public static let precisions: [InferencePrecision] = [.exact, .float32, .bfloat16]

    /// The same on every processor: one without bfloat16 products rounds the operands and multiplies them as float32.
    public var precisions: [InferencePrecision] { Self.precisions }
    /// `float32` may use minimal filtering, `exact` does not.
    public var distinguishesExact: Bool { true }

    /// The operators that the engine lacks. Reads the file once.
    public func missingFeature(for network: String) throws -> String? {
        let missing = GraphBinder.unsupportedOperators(try ONNXReader.read(network))
        return missing.isEmpty ? nil : "does not have \(missing.joined(separator: ", "))"
    }

    /// Reads and checks a network. Needs twice the file's size in memory temporarily, then once the size, until the weights are
    /// packed for a shape.
    ///
    /// - Parameter precision: `exact` is the plain sum of float32 products in a fixed order. `float32` may use minimal
    ///   filtering. `bfloat16` rounds the operands of convolutions to bfloat16 and sums in float32; a processor without
    ///   bfloat16 products multiplies the rounded operands as float32, which ``LoadedNetwork/instructionSet`` states.
    ///   All operators other than convolutions are computed in float32 in each case.
    public func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork {
        try check(precision)
        let file = FileState(path: path)
        let graph = try ONNXReader.read(path)
        // Checked here too: an engine that was chosen by name is not asked for ``missingFeature(for:)``.
        let missing = GraphBinder.unsupportedOperators(graph)
        guard missing.isEmpty else { throw ModelFormatError.unsupportedOperators(missing) }
        return BuiltinNetwork(graph, of: file, precision: precision, limit: limit, weights: weights)
    }
}
