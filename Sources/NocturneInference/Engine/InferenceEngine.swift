public import NocturneConcurrency
import NocturneSystem

/// An engine that can run ONNX networks.
public protocol InferenceEngine: Sendable {
    /// The name used for `--engine` and in result files.
    var name: String { get }

    /// For example `2026.4.1`; nil for an engine that is part of Nocturne.
    var version: String? { get }

    /// The precisions that ``load(onnx:precision:)`` accepts on this machine.
    var precisions: [InferencePrecision] { get }

    /// Whether ``InferencePrecision/exact`` is computed differently from `float32`.
    var distinguishesExact: Bool { get }

    /// The engine, whose networks keep their packed weights only as far as they fit together with those of other engines.
    func sharing(_ weights: PackedWeights) -> any InferenceEngine

    /// What the engine lacks for a network, as far as that is known without loading it; text that completes "the
    /// builtin engine …".
    /// - Throws: ``ModelFormatError`` for files that are not networks.
    func missingFeature(for network: String) throws -> String?

    /// Reads a network.
    /// - Throws: ``ModelFormatError``; all operators that the engine does not support are named at once.
    func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork
}

extension InferenceEngine {
    public var version: String? { nil }
    public var distinguishesExact: Bool { false }

    /// By default nothing is limited: an engine that packs no weights itself.
    public func sharing(_ weights: PackedWeights) -> any InferenceEngine { self }

    /// By default nothing is known before loading.
    public func missingFeature(for network: String) throws -> String? { nil }
}

/// A network in memory, ready to be bound to a shape. Any number of sessions share its weights.
public protocol LoadedNetwork: Sendable {
    var inputs: [TensorDescription] { get }
    var outputs: [TensorDescription] { get }

    /// Bytes of the weights, including the copy packed for the kernels; before the network is planned, an estimate.
    var weightBytes: Int { get }

    /// The part of ``weightBytes`` that is freed when the networks in memory have more than ``packedLimit``.
    var packedBytes: Int { get }

    /// How many bytes of packed weights this network and others keep together, but for those of the networks in use.
    var packedLimit: Int { get }

    /// The instruction set for which the kernels were chosen, such as `avx512`; results depend on it.
    var instructionSet: String { get }

    /// The number of bytes that a session of this shape maps: planned activations, and scratch for `width` threads.
    ///
    /// The first call for a shape plans it and packs the weights, which the sessions of the shape then share.
    /// - Parameter inputShapes: extents (N, C, …) by input name. An input that is not listed takes its shape from the
    ///   file, with the batch extent 1 where that is open.
    /// - Throws: ``ModelFormatError`` when the graph does not match the shapes.
    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int

    /// Shapes of the outputs, by name, for the given inputs. Plans the shape in the same way as
    /// ``workspaceBytes(inputShapes:width:)``.
    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]]

    /// How the time of a session of this shape falls with the number of threads; nil where the engine does not say. Plans the
    /// shape in the same way as ``workspaceBytes(inputShapes:width:)``.
    func threadScaling(inputShapes: [String: [Int]]) throws -> ThreadScaling?

    /// Whether sessions use the memory that is passed to them. An engine that manages its own memory does not.
    var sharesMemory: Bool { get }

    /// Creates a session.
    /// - Parameters:
    ///   - width: number of threads that will share a run: the ``ComputeScope/width`` of its scope.
    ///   - memory: the memory for activations; it may be shared by several sessions, of any networks, that never run at
    ///     the same time.
    /// - Throws: ``ModelFormatError``; `AllocationError` when the system has not enough memory.
    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> any NetworkSession

    /// Frees plans and packed weights that no session uses; they are created again when needed.
    func dropPlans()
}

extension LoadedNetwork {
    public func threadScaling(inputShapes: [String: [Int]]) throws -> ThreadScaling? { nil }

    public var packedBytes: Int { 0 }
    public var packedLimit: Int { .max }

    /// ``workspaceBytes(inputShapes:width:)`` with the shape of the first input.
    public func workspaceBytes(inputShape: [Int], width: Int) throws -> Int {
        try workspaceBytes(inputShapes: firstInput(inputShape), width: width)
    }

    /// ``threadScaling(inputShapes:)`` with the shape of the first input.
    public func threadScaling(inputShape: [Int]) throws -> ThreadScaling? {
        try threadScaling(inputShapes: firstInput(inputShape))
    }

    /// The shape of the first output for a shape of the first input.
    public func outputShape(inputShape: [Int]) throws -> [Int] {
        let shapes = try outputShapes(inputShapes: firstInput(inputShape))
        return outputs.first.flatMap { shapes[$0.name] } ?? []
    }

    /// A session with its own memory.
    public func makeSession(inputShapes: [String: [Int]], width: Int) throws -> any NetworkSession {
        try makeSession(inputShapes: inputShapes, width: width, memory: SessionMemory())
    }

    /// A session for a shape of the first input.
    public func makeSession(inputShape: [Int], width: Int, memory: SessionMemory = SessionMemory()) throws
        -> any NetworkSession
    {
        try makeSession(inputShapes: firstInput(inputShape), width: width, memory: memory)
    }

    private func firstInput(_ shape: [Int]) -> [String: [Int]] {
        inputs.first.map { [$0.name: shape] } ?? [:]
    }
}

/// A network bound to shapes, with a workspace that is reused from run to run. To be used by one caller at a time.
///
/// Tensors are in ONNX order (N, C, D, H, W), C order, float32. A run checks the scope's flag between layers and
/// between chunks of a layer. For a given instruction set the result is bit-identical for any number of threads.
public protocol NetworkSession: AnyObject {
    /// Extents by input name.
    var inputShapes: [String: [Int]] { get }
    /// Extents by output name.
    var outputShapes: [String: [Int]] { get }
    /// The number of bytes that this session has mapped.
    var workspaceBytes: Int { get }

    /// Runs a network that has one input, and writes its first output.
    /// - Throws: `CancelledError`; ``ModelFormatError`` when the buffers do not have the shapes' sizes or the network
    ///   has more inputs.
    func run(
        input: UnsafeBufferPointer<Float>,
        output: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws

    /// Runs a network with any number of inputs and outputs, by name.
    func run(_ inputs: [String: Tensor], scope: ComputeScope) throws -> [String: Tensor]
}
