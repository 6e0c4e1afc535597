public import NocturneConcurrency
import NocturneSystem

/// Something that can run ONNX networks.
public protocol InferenceEngine: Sendable {
    /// The name for `--engine` and for result files.
    var name: String { get }

    /// Such as `2026.4.1`; nil for what is part of Nocturne.
    var version: String? { get }

    /// What ``load(onnx:precision:)`` takes on this machine.
    var precisions: [InferencePrecision] { get }

    /// Whether ``InferencePrecision/exact`` is computed in another way than `float32`.
    var distinguishesExact: Bool { get }

    /// What the engine lacks for a network, as far as that is known without loading it. Completes "the builtin engine …".
    /// - Throws: ``ModelFormatError`` for files that are not networks.
    func lack(for network: String) throws -> String?

    /// Reads a network.
    /// - Throws: ``ModelFormatError``; operators the engine has not got are all named at once.
    func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork
}

extension InferenceEngine {
    public var version: String? { nil }
    public var distinguishesExact: Bool { false }

    /// Nothing is known before loading.
    public func lack(for network: String) throws -> String? { nil }
}

/// A network in memory, ready to be bound to a shape. Any number of sessions share its weights.
public protocol LoadedNetwork: Sendable {
    var inputs: [TensorDescription] { get }
    var outputs: [TensorDescription] { get }

    /// Bytes of the weights, with the copy packed for the kernels.
    var weightBytes: Int { get }

    /// What the kernels were chosen for, such as `avx512`; part of what a result depends on.
    var instructionSet: String { get }

    /// Bytes a session of this shape maps: planned activations, and scratch for `width` threads.
    ///
    /// The first call for a shape plans it and packs the weights, which sessions of the shape then share.
    /// - Parameter inputShapes: extents (N, C, …) by input name. An input that is left out takes its shape from the
    ///   file, with the batch extent 1 where that is open.
    /// - Throws: ``ModelFormatError`` when the graph does not fit the shapes.
    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int

    /// Shapes of the outputs, by name, for the given inputs. Plans the shape like
    /// ``workspaceBytes(inputShapes:width:)``.
    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]]

    /// Whether sessions use the memory they are given. An engine that manages its own does not.
    var sharesMemory: Bool { get }

    /// Makes a session.
    /// - Parameters:
    ///   - width: threads that will share a run: the ``ComputeScope/width`` of its scope.
    ///   - memory: where activations go; the same for several sessions, of any networks, that never run at the same time.
    /// - Throws: ``ModelFormatError``; `AllocationError` when the system has no memory.
    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> any NetworkSession

    /// Forgets plans and packed weights that no session uses; they are made again when needed.
    func dropPlans()
}

extension LoadedNetwork {
    /// ``workspaceBytes(inputShapes:width:)`` with the shape of the first input.
    public func workspaceBytes(inputShape: [Int], width: Int) throws -> Int {
        try workspaceBytes(inputShapes: firstInput(inputShape), width: width)
    }

    /// The shape of the first output for a shape of the first input.
    public func outputShape(inputShape: [Int]) throws -> [Int] {
        let shapes = try outputShapes(inputShapes: firstInput(inputShape))
        return outputs.first.flatMap { shapes[$0.name] } ?? []
    }

    /// A session with memory of its own.
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

/// A network bound to shapes, with a workspace that is reused from run to run. One caller at a time.
///
/// Tensors are in ONNX order (N, C, D, H, W), C order, float32. A run looks at the scope's flag between layers and
/// between chunks of a layer. For a given instruction set its result is the same to the bit for any number of threads.
public protocol NetworkSession: AnyObject {
    /// Extents by input name.
    var inputShapes: [String: [Int]] { get }
    /// Extents by output name.
    var outputShapes: [String: [Int]] { get }
    /// Bytes this session has mapped.
    var workspaceBytes: Int { get }

    /// Runs a network that has one input, and gives its first output.
    /// - Throws: `CancelledError`; ``ModelFormatError`` when the buffers do not have the shapes' sizes or the network has
    ///   more inputs.
    func run(
        input: UnsafeBufferPointer<Float>,
        output: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws

    /// Runs a network with any number of inputs and outputs, by name.
    func run(_ inputs: [String: Tensor], scope: ComputeScope) throws -> [String: Tensor]
}
