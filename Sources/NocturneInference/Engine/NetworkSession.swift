public import NocturneConcurrency
internal import NocturneCore

/// What runs a network bound to shapes: the part of a session that every engine has for itself. The session checks, copies and
/// names the tensors.
public protocol NetworkRunner: AnyObject {
    /// The number of bytes that it has mapped.
    var workspaceBytes: Int { get }

    /// The number of threads that it was made for; nil if it takes any.
    var width: Int? { get }

    /// Runs the network on buffers in the order and of the sizes of its inputs and outputs, which are valid during the call.
    /// - Throws: `CancelledError`; the engine's own error.
    func run(
        _ inputs: [UnsafeBufferPointer<Float>],
        _ outputs: [UnsafeMutableBufferPointer<Float>],
        scope: ComputeScope
    ) throws
}

extension NetworkRunner {
    /// By default any number of threads.
    public var width: Int? { nil }
}

/// A network bound to shapes, with memory that is reused from run to run. To be used by one caller at a time.
///
/// Tensors are in ONNX order (N, C, D, H, W), C order, float32. A run checks the scope's flag between layers and
/// between chunks of a layer. For a given instruction set the result of the builtin engine is bit-identical for any number of
/// threads.
public final class NetworkSession {
    /// In the network's order.
    public let inputs: [TensorPort]
    /// In the network's order.
    public let outputs: [TensorPort]
    private let network: String
    private let make: (_ width: Int) throws -> any NetworkRunner
    private(set) var runner: any NetworkRunner

    /// - Parameters:
    ///   - network: the path, used in errors.
    ///   - width: the number of threads that will share a run.
    ///   - make: called now, and again when a run has another width than the runner was made for.
    /// - Throws: what `make` throws.
    public init(
        network: String,
        inputs: [TensorPort],
        outputs: [TensorPort],
        width: Int,
        make: @escaping (_ width: Int) throws -> any NetworkRunner
    ) throws {
        self.network = network
        self.inputs = inputs
        self.outputs = outputs
        self.make = make
        runner = try make(width)
    }

    /// Extents by output name.
    public var outputShapes: [String: [Int]] { Self.shapes(outputs) }
    /// The number of bytes that this session has mapped.
    public var workspaceBytes: Int { runner.workspaceBytes }

    /// Runs a network that has one input, and writes its first output.
    /// - Throws: `CancelledError`; ``ModelFormatError`` when the buffers do not have the shapes' sizes or the network
    ///   has more inputs; `AllocationError`.
    public func run(
        input: UnsafeBufferPointer<Float>,
        output: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws {
        guard inputs.count == 1, !outputs.isEmpty else {
            throw mismatch("it has \(inputs.count) inputs, and one was given")
        }
        // Outputs that were not requested need memory too.
        let others = try outputs.dropFirst().map { try FloatBuffer(count: $0.shape.reduce(1, *)) }
        try withExtendedLifetime(others) { try run([input], [output] + others.map(\.values), scope: scope) }
    }

    /// Runs a network with any number of inputs and outputs, by name.
    /// - Throws: as ``run(input:output:scope:)``.
    public func run(_ tensors: [String: Tensor], scope: ComputeScope) throws -> [String: Tensor] {
        let given = try inputs.map { try buffer(of: $0, among: tensors) }
        let results = try outputs.map { try FloatBuffer(count: $0.shape.reduce(1, *)) }
        return try withExtendedLifetime((given, results)) {
            try run(given.map { UnsafeBufferPointer($0.values) }, results.map(\.values), scope: scope)
            var found: [String: Tensor] = [:]
            for (output, buffer) in zip(outputs, results) {
                found[output.name] = Tensor(shape: output.shape, values: Array(buffer.values))
            }
            return found
        }
    }

    /// Runs the network on one buffer for each input and output, in their order.
    /// - Throws: as ``run(input:output:scope:)``.
    public func run(
        _ inputs: [UnsafeBufferPointer<Float>],
        _ outputs: [UnsafeMutableBufferPointer<Float>],
        scope: ComputeScope
    ) throws {
        guard inputs.count == self.inputs.count, outputs.count == self.outputs.count else {
            throw mismatch("\(inputs.count) inputs and \(outputs.count) outputs were given")
        }
        for (buffer, port) in zip(inputs, self.inputs) { try check(buffer.count, port, "input") }
        for (buffer, port) in zip(outputs, self.outputs) { try check(buffer.count, port, "output") }
        try scope.check()
        if let width = runner.width, width != scope.width { runner = try make(scope.width) }
        try runner.run(inputs, outputs, scope: scope)
        try scope.check()
    }

    /// Shapes by name.
    static func shapes(_ ports: [TensorPort]) -> [String: [Int]] {
        Dictionary(ports.map { ($0.name, $0.shape) }, uniquingKeysWith: { first, _ in first })
    }

    private func mismatch(_ reason: String) -> ModelFormatError { .shapeMismatch(network: network, reason: reason) }

    private func buffer(of input: TensorPort, among tensors: [String: Tensor]) throws -> FloatBuffer {
        guard let tensor = tensors[input.name] else { throw mismatch("the input '\(input.name)' was not given") }
        guard tensor.shape == input.shape else {
            throw mismatch("the input '\(input.name)' has shape \(tensor.shape) instead of \(input.shape)")
        }
        let buffer = try FloatBuffer(count: tensor.values.count)
        _ = buffer.values.update(fromContentsOf: tensor.values)
        return buffer
    }

    private func check(_ count: Int, _ port: TensorPort, _ role: String) throws {
        guard count > 0, count == port.shape.reduce(1, *) else {
            throw mismatch("the \(role) '\(port.name)' of shape \(port.shape) was given \(count) values")
        }
    }
}

/// Mapped memory with a reference to it, so that buffers can be stored in a list.
final class FloatBuffer {
    private var buffer: VoxelBuffer<Float>
    let values: UnsafeMutableBufferPointer<Float>

    init(count: Int) throws(AllocationError) {
        var buffer = try VoxelBuffer<Float>(count: count)
        // Mapped memory does not move when its owner moves.
        values = buffer.withUnsafeMutableBufferPointer { $0 }
        self.buffer = buffer
    }
}

/// Memory for the activations of sessions that never run at the same time: the networks of an ensemble need as much as
/// the largest of them, not the sum.
public final class SessionMemory {
    var workspace = VoxelBuffer<UInt8>.empty
    var scratch = VoxelBuffer<UInt8>.empty

    /// Empty at first; it grows with the sessions that use it.
    public init() {}

    var byteCount: Int { workspace.byteCount + scratch.byteCount }

    /// Grows to at least these sizes. The content is only used within a run, so it is not preserved.
    func reserve(workspace workspaceBytes: Int, scratch scratchBytes: Int) throws(AllocationError) {
        if workspace.count < workspaceBytes {
            workspace = .empty
            workspace = try VoxelBuffer(count: workspaceBytes)
        }
        if scratch.count < scratchBytes {
            scratch = .empty
            scratch = try VoxelBuffer(count: scratchBytes)
        }
    }
}
