/// An engine that can run ONNX networks.
public protocol InferenceEngine: Sendable {
    /// The name used for `--engine` and in result files.
    var name: String { get }

    /// For example `2026.4.1`; nil for an engine that is part of Nocturne.
    var version: String? { get }

    /// Where networks run: `cpu`, or a device such as `cuda:0`.
    var device: String { get }

    /// What results of other engines, or of this one elsewhere, differ by: the name, and for a device the library's
    /// version and the device.
    var identity: String { get }

    /// What is known of the engine's installation, for display.
    var facts: String { get }

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
    /// By default the engine is a part of Nocturne.
    public var version: String? { nil }
    /// By default the processor.
    public var device: String { "cpu" }
    /// By default results depend on the engine alone.
    public var identity: String { name }
    /// By default the version.
    public var facts: String { version ?? "available" }
    /// By default both are the same.
    public var distinguishesExact: Bool { false }

    /// By default nothing is limited: an engine that packs no weights itself.
    public func sharing(_ weights: PackedWeights) -> any InferenceEngine { self }

    /// By default nothing is known before loading.
    public func missingFeature(for network: String) throws -> String? { nil }

    /// - Throws: ``ModelFormatError/unsupportedPrecision(asked:offered:)`` for a precision that is not one of ``precisions``.
    func check(_ precision: InferencePrecision) throws(ModelFormatError) {
        guard precisions.contains(precision) else {
            throw .unsupportedPrecision(asked: precision, offered: precisions)
        }
    }
}

/// An entry of the engine registry: what is known of an engine before it is started.
///
/// To add an engine, add one folder with an ``InferenceEngine`` and its kind, and one line in ``InferenceEngines/all``.
public struct InferenceEngineKind: Sendable {
    /// The value of `--engine` that selects it; also the name stored in results.
    public let name: String
    /// The display name, such as "ONNX Runtime".
    public let title: String
    /// Whether it uses software that may not be installed.
    public let needsInstallation: Bool
    /// Whether the engine may use a device other than the processor here. `auto` asks such engines first.
    public let mayUseDevice: @Sendable (_ environment: [String: String]) -> Bool
    /// Starts the engine. The environment is that of the process; engines use it to find their libraries. Throws the reason why
    /// the engine is not available on this machine.
    public let make: @Sendable (_ environment: [String: String]) throws -> any InferenceEngine

    /// - Parameters:
    ///   - mayUseDevice: by default, only the processor.
    ///   - make: throws the reason why the engine is not available on this machine.
    public init(
        name: String,
        title: String,
        needsInstallation: Bool,
        mayUseDevice: @escaping @Sendable (_ environment: [String: String]) -> Bool = { _ in false },
        make: @escaping @Sendable (_ environment: [String: String]) throws -> any InferenceEngine
    ) {
        self.name = name
        self.title = title
        self.needsInstallation = needsInstallation
        self.mayUseDevice = mayUseDevice
        self.make = make
    }
}

/// A network in memory, ready to be bound to a shape. Any number of sessions share its weights.
public protocol LoadedNetwork: Sendable {
    var inputs: [TensorDescription] { get }
    var outputs: [TensorDescription] { get }

    /// Bytes of the weights, including the copy packed for the kernels; before the network is planned, an estimate.
    var weightBytes: Int { get }

    /// The part of ``weightBytes`` that is freed when the networks in memory have more than ``packedLimit``.
    var packedBytes: Int { get }

    /// The largest part of ``packedBytes`` that belongs to one plan: what a session keeps when its plan is dropped.
    var packedBytesOfPlan: Int { get }

    /// How many bytes of packed weights this network and others keep together, but for those of the networks in use.
    var packedLimit: Int { get }

    /// The instruction set for which the kernels were chosen, such as `avx512`, or the device; results depend on it.
    var instructionSet: String { get }

    /// The name of the engine that runs the network instead of the device that was chosen, and why; nil while the device does.
    var substitute: (engine: String, fault: DeviceFault)? { get }

    /// The inference of an item, which ran this network, has ended.
    func ended(_ item: String)

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

    /// How the time of a session of this shape falls with the number of threads; nil where the engine does not report it. Plans
    /// the shape in the same way as ``workspaceBytes(inputShapes:width:)``.
    func threadScaling(inputShapes: [String: [Int]]) throws -> ThreadScaling?

    /// Whether sessions use the memory that is passed to them. An engine that manages its own memory does not.
    var sharesMemory: Bool { get }

    /// Creates a session.
    /// - Parameters:
    ///   - width: number of threads that will share a run: the ``ComputeScope/width`` of its scope.
    ///   - memory: the memory for activations; it may be shared by several sessions, of any networks, that never run at
    ///     the same time.
    /// - Throws: ``ModelFormatError``; `AllocationError` when the system has not enough memory.
    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> NetworkSession

    /// Frees plans and packed weights that no session uses; they are created again when needed.
    func dropPlans()
}

extension LoadedNetwork {
    /// By default the engine does not report it.
    public func threadScaling(inputShapes: [String: [Int]]) throws -> ThreadScaling? { nil }

    /// By default nothing takes its place.
    public var substitute: (engine: String, fault: DeviceFault)? { nil }
    /// By default nothing is recorded.
    public func ended(_ item: String) {}
    /// By default nothing is packed.
    public var packedBytes: Int { 0 }
    /// By default nothing is packed.
    public var packedBytesOfPlan: Int { 0 }
    /// By default there is no limit.
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
    public func makeSession(inputShapes: [String: [Int]], width: Int) throws -> NetworkSession {
        try makeSession(inputShapes: inputShapes, width: width, memory: SessionMemory())
    }

    /// A session for a shape of the first input.
    public func makeSession(
        inputShape: [Int],
        width: Int,
        memory: SessionMemory = SessionMemory()
    ) throws -> NetworkSession {
        try makeSession(inputShapes: firstInput(inputShape), width: width, memory: memory)
    }

    private func firstInput(_ shape: [Int]) -> [String: [Int]] {
        inputs.first.map { [$0.name: shape] } ?? [:]
    }
}
