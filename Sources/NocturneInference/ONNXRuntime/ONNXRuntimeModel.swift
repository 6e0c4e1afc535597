internal import CONNXRuntime
internal import NocturneConcurrency
import NocturneSystem
internal import Synchronization

/// A network on a device, or on the processor, for which it is loaded again for every number of threads.
struct ONNXRuntimeModel: LibraryModel {
    let inputs: [TensorDescription]
    let outputs: [TensorDescription]
    private let library: ONNXRuntimeLibrary
    private let path: String
    /// Nil for the processor.
    private let device: ONNXRuntimeHandle?

    /// - Parameter cuda: the number of the device; nil for the processor.
    /// - Throws: ``ModelFormatError`` with ONNX Runtime's reason.
    init(_ library: ONNXRuntimeLibrary, path: String, cuda: Int?) throws {
        self.library = library
        self.path = path
        let handle = try ONNXRuntimeHandle(library, path: path, cuda: cuda, threads: 1)
        device = cuda == nil ? nil : handle
        inputs = try handle.ports(ofOutputs: 0)
        outputs = try handle.ports(ofOutputs: 1)
    }

    var usesThreads: Bool { device == nil }

    /// Runs the network once with zeros: nothing else gives its memory, and the shapes of outputs with open extents.
    func plan(_ inputs: [TensorPort], width: Int) throws -> LibraryPlan {
        let handle = try device ?? ONNXRuntimeHandle(library, path: path, cuda: nil, threads: width)
        let width = usesThreads ? width : nil
        let run = try ONNXRuntimeRun(handle, inputs: inputs, width: width)
        let outputs = self.outputs.indices.map { (name: self.outputs[$0].name, shape: run.outputShape($0)) }
        // The first session takes the run that was made for this.
        let spare = Mutex<ONNXRuntimeRun?>(run)
        return LibraryPlan(outputs: outputs) { bytes in
            let found = spare.withLock { spare in
                defer { spare = nil }
                return spare
            }
            let run = try found ?? ONNXRuntimeRun(handle, inputs: inputs, width: width)
            run.workspaceBytes = bytes
            return run
        }
    }
}

/// A network as loaded by ONNX Runtime for a device and a number of threads.
private final class ONNXRuntimeHandle: @unchecked Sendable {
    // Unchecked: ONNX Runtime's sessions may be used from any thread.
    let pointer: OpaquePointer
    let path: String
    let library: ONNXRuntimeLibrary

    /// - Throws: ``ModelFormatError/malformed(path:reason:)`` with ONNX Runtime's reason: damage, or unsupported operators.
    init(_ library: ONNXRuntimeLibrary, path: String, cuda: Int?, threads: Int) throws(ModelFormatError) {
        var message = MessageBuffer()
        let found = message.fill { conort_load(library.table, path, Int32(cuda ?? -1), Int32(threads), $0, $1) }
        guard let found else { throw Self.malformed(library, path, message) }
        pointer = found
        self.path = path
        self.library = library
    }

    deinit { conort_free_network(pointer) }

    func ports(ofOutputs: Int32) throws(ModelFormatError) -> [TensorDescription] {
        var descriptions: [TensorDescription] = []
        for index in 0..<conort_port_count(pointer, ofOutputs) {
            var port = conort_port()
            var message = MessageBuffer()
            guard message.fill({ conort_describe(pointer, ofOutputs, index, &port, $0, $1) }) == 0 else {
                throw Self.malformed(library, path, message)
            }
            let name = withUnsafeBytes(of: port.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard port.is_float32 != 0 else { throw ModelFormatError.notFloat32(name, path) }
            let shape = withUnsafeBytes(of: port.extents) { TensorDescription.shape($0, rank: port.rank) }
            descriptions.append(TensorDescription(name: name, shape: shape))
        }
        return descriptions
    }

    private static func malformed(
        _ library: ONNXRuntimeLibrary,
        _ path: String,
        _ message: MessageBuffer
    ) -> ModelFormatError {
        .malformed(path: path, reason: "ONNX Runtime \(library.version): \(EngineError.condensed(message.text))")
    }
}

/// Buffers and the thread of one session. Used by one owner at a time.
private final class ONNXRuntimeRun: NetworkRunner, @unchecked Sendable {
    // Unchecked: owned by a plan until a session takes it.
    /// A GPU that needs longer for one run no longer works; a processor may.
    private static let deviceLimit = Duration.seconds(120)

    /// Nil on a device.
    let width: Int?
    /// As the plan measured them.
    var workspaceBytes = 0
    private let pointer: OpaquePointer
    private let handle: ONNXRuntimeHandle
    /// Set for a run that did not end: what it uses is never freed.
    private var isStuck = false

    /// Binds the network to shapes, and runs it once with zeros.
    /// - Throws: ``EngineError``
    init(_ handle: ONNXRuntimeHandle, inputs: [TensorPort], width: Int?) throws(EngineError) {
        var message = MessageBuffer()
        let ranks = inputs.map { Int32($0.shape.count) }
        let extents = inputs.flatMap(\.shape).map(Int64.init)
        guard let found = message.fill({ conort_bind(handle.pointer, ranks, extents, $0, $1) }) else {
            let shapes = inputs.map { "\($0.name) \($0.shape)" }.joined(separator: ", ")
            throw ONNXRuntimeLibrary.library.failed(
                handle.path,
                "run it with \(shapes)",
                EngineError.condensed(message.text)
            )
        }
        pointer = found
        self.handle = handle
        self.width = width
    }

    deinit {
        if isStuck { _ = Unmanaged.passRetained(handle) }
        conort_free_run(pointer)
    }

    func outputShape(_ index: Int) -> [Int] {
        (0..<max(conort_output_rank(pointer, index), 0)).map { Int(conort_output_extent(pointer, index, $0)) }
    }

    /// Copies through the buffers of the run: page-locked ones, which a device reads and writes at the rate of the bus, and
    /// which a device that answers too late may still write to.
    func run(
        _ inputs: [UnsafeBufferPointer<Float>],
        _ outputs: [UnsafeMutableBufferPointer<Float>],
        scope: ComputeScope
    ) throws {
        for (index, values) in inputs.enumerated() {
            try Self.copy(values.baseAddress, to: conort_buffer(pointer, 0, index), count: values.count, scope)
        }
        try compute(limit: width == nil ? Self.deviceLimit : nil, scope)
        for (index, values) in outputs.enumerated() {
            let found = UnsafePointer(conort_buffer(pointer, 1, index))
            try Self.copy(found, to: values.baseAddress, count: values.count, scope)
        }
    }

    /// Runs the network on the buffers, and looks at the scope's flag every 20 ms.
    /// - Parameter limit: the longest time of a run; nil for none. A run that takes longer is left alone.
    private func compute(limit: Duration?, _ scope: ComputeScope) throws {
        var message = MessageBuffer()
        guard conort_start(pointer) == 0 else { throw failed("start a run", "the last one has not ended") }
        let start = scope.time.monotonic
        var wasCancelled = false
        while true {
            let state = message.fill { conort_wait(pointer, 20, $0, $1) }
            if state <= 0 {
                if wasCancelled { throw CancelledError() }
                if state == 0 { return }
                throw failed("run it", EngineError.condensed(message.text))
            }
            if !wasCancelled, scope.flag.isCancelled {
                // The buffers are in use until it has stopped, after the current operator.
                conort_cancel(pointer)
                wasCancelled = true
            }
            if let limit, scope.time.monotonic - start > limit {
                isStuck = true
                throw failed("run it", "no result after \(limit)")
            }
        }
    }

    private func failed(_ step: String, _ message: String) -> EngineError {
        ONNXRuntimeLibrary.library.failed(handle.path, step, message)
    }

    private static func copy(
        _ from: UnsafePointer<Float>?,
        to target: UnsafeMutablePointer<Float>?,
        count: Int,
        _ scope: ComputeScope
    ) throws {
        guard let from, let target else { return }
        // Every range is written by one body only.
        nonisolated(unsafe) let (source, destination) = (from, target)
        try scope.forEachRange(of: count, by: 1 << 20) { range in
            (destination + range.lowerBound).update(from: source + range.lowerBound, count: range.count)
        }
    }
}
