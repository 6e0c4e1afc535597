internal import COpenVINO
internal import NocturneConcurrency
import NocturneSystem

/// A network of OpenVINO. It is read again for every shape, because setting a shape cannot be undone.
struct OpenVINOModel: LibraryModel {
    let inputs: [TensorDescription]
    let outputs: [TensorDescription]
    private let library: OpenVINOLibrary
    private let path: String
    private let precision: InferencePrecision

    /// - Throws: ``ModelFormatError`` with OpenVINO's reason.
    init(_ library: OpenVINOLibrary, path: String, precision: InferencePrecision) throws {
        self.library = library
        self.path = path
        self.precision = precision
        let graph = try OpenVINOGraph(library, path: path)
        inputs = try graph.ports(ofOutputs: 0)
        outputs = try graph.ports(ofOutputs: 1)
    }

    var usesThreads: Bool { true }

    func plan(_ inputs: [TensorPort], width: Int) throws -> LibraryPlan {
        let compiled = try OpenVINOCompiled(library, path: path, inputs: inputs, precision: precision, width: width)
        let elements = (inputs + compiled.outputs).reduce(0) { $0 + $1.shape.reduce(1, *) }
        // A request's own inputs and outputs.
        return LibraryPlan(outputs: compiled.outputs, bytes: elements * MemoryLayout<Float>.stride) {
            try OpenVINORequest(compiled, workspaceBytes: $0)
        }
    }
}

/// A network as read by OpenVINO, before it is compiled. Used by one owner at a time.
private final class OpenVINOGraph {
    private let library: OpenVINOLibrary
    private let path: String
    private let pointer: UnsafeMutableRawPointer

    /// - Throws: ``ModelFormatError/malformed(path:reason:)`` with OpenVINO's reason: damage, or unsupported operators.
    init(_ library: OpenVINOLibrary, path: String) throws(ModelFormatError) {
        var model: UnsafeMutableRawPointer?
        let status = covino_read(library.table, library.core, path, &model)
        guard status == 0, let model else {
            throw .malformed(path: path, reason: library.says(status))
        }
        self.library = library
        self.path = path
        pointer = model
    }

    deinit { covino_free_model(library.table, pointer) }

    func ports(ofOutputs: Int32) throws(ModelFormatError) -> [TensorDescription] {
        var count = 0
        let status = covino_port_count(library.table, pointer, ofOutputs, &count)
        guard status == 0, count <= 10_000 else { throw .malformed(path: path, reason: library.says(status)) }
        var descriptions: [TensorDescription] = []
        for index in 0..<count {
            var port = covino_port()
            let status = covino_describe(library.table, pointer, ofOutputs, index, &port)
            guard status == 0 else { throw .malformed(path: path, reason: library.says(status)) }
            let name = withUnsafeBytes(of: port.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard port.is_float32 != 0 else { throw ModelFormatError.notFloat32(name, path) }
            let shape = withUnsafeBytes(of: port.extents) { TensorDescription.shape($0, rank: port.rank) }
            descriptions.append(TensorDescription(name: name, shape: shape))
        }
        return descriptions
    }

    /// Fixes the shapes of all inputs, and returns the resulting shapes of the outputs.
    /// - Throws: ``ModelFormatError/shapeMismatch(network:reason:)``
    func reshape(_ inputs: [TensorPort]) throws(ModelFormatError) -> [TensorPort] {
        let extents = inputs.flatMap(\.shape).map(Int64.init)
        let ranks = inputs.map { Int32($0.shape.count) }
        let status = covino_reshape(library.table, pointer, inputs.count, ranks, extents)
        guard status == 0 else { throw .shapeMismatch(network: path, reason: library.says(status)) }
        var results: [TensorPort] = []
        for output in try ports(ofOutputs: 1) {
            let shape = output.shape.compactMap { $0 }
            guard shape.count == output.shape.count, shape.allSatisfy({ $0 > 0 }) else {
                throw .shapeMismatch(
                    network: path,
                    reason: "the output '\(output.name)' has a shape that is known at run time only, or is empty"
                )
            }
            results.append((output.name, shape))
        }
        return results
    }

    /// Compiles for `width` threads.
    /// - Throws: ``EngineError/Code/failed``
    func compiled(precision: InferencePrecision, width: Int) throws(EngineError) -> UnsafeMutableRawPointer {
        let wanted = [
            ("INFERENCE_NUM_THREADS", "\(max(width, 1))"),
            ("NUM_STREAMS", "1"),
            ("INFERENCE_PRECISION_HINT", precision == .bfloat16 ? "bf16" : "f32"),
            // OpenVINO must not reduce the precision by itself.
            ("EXECUTION_MODE_HINT", precision == .bfloat16 ? "PERFORMANCE" : "ACCURACY"),
            // Nocturne's own threads, and other processes, should be scheduled freely.
            ("ENABLE_CPU_PINNING", "NO"),
        ]
        // Versions differ in the properties they support, and refuse unknown ones.
        let known = wanted.filter { library.properties.isEmpty || library.properties.contains($0.0) }
        var compiled: UnsafeMutableRawPointer?
        let status = withCStrings(known.flatMap { [$0.0, $0.1] }) {
            covino_compile(library.table, library.core, pointer, known.count, $0, &compiled)
        }
        guard status == 0, let compiled else { throw library.failed(path, "compile it", status) }
        return compiled
    }

    /// Calls `body` with C strings that are valid for the duration of the call.
    private func withCStrings<R>(_ strings: [String], _ body: ([UnsafePointer<CChar>?]) throws -> R) rethrows -> R {
        var bytes: [CChar] = []
        var starts: [Int] = []
        for string in strings {
            starts.append(bytes.count)
            bytes += string.utf8CString
        }
        return try bytes.withUnsafeBufferPointer { buffer in
            try body(starts.map { start in buffer.baseAddress.map { $0 + start } })
        }
    }
}

/// A network compiled for shapes and a number of threads. Its requests run one after the other.
private final class OpenVINOCompiled: @unchecked Sendable {
    // Unchecked: OpenVINO's compiled networks may be used from any thread.
    let library: OpenVINOLibrary
    let path: String
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    let width: Int
    let pointer: UnsafeMutableRawPointer

    /// - Throws: ``ModelFormatError/shapeMismatch(network:reason:)``; ``EngineError/Code/failed``.
    init(
        _ library: OpenVINOLibrary,
        path: String,
        inputs: [TensorPort],
        precision: InferencePrecision,
        width: Int
    ) throws {
        let graph = try OpenVINOGraph(library, path: path)
        outputs = try graph.reshape(inputs)
        pointer = try graph.compiled(precision: precision, width: width)
        self.library = library
        self.path = path
        self.inputs = inputs
        self.width = width
    }

    deinit { covino_free_compiled(library.table, pointer) }
}

/// A request of a compiled network.
private final class OpenVINORequest: NetworkRunner {
    /// The maximum delay before a cancellation is noticed, and the timeout of a single wait.
    private static let sliceMilliseconds: Int64 = 20

    let workspaceBytes: Int
    private let compiled: OpenVINOCompiled
    private let pointer: UnsafeMutableRawPointer
    private var library: OpenVINOLibrary { compiled.library }

    /// - Throws: ``EngineError/Code/failed``
    init(_ compiled: OpenVINOCompiled, workspaceBytes: Int) throws(EngineError) {
        self.compiled = compiled
        self.workspaceBytes = workspaceBytes
        var request: UnsafeMutableRawPointer?
        let status = covino_request(compiled.library.table, compiled.pointer, &request)
        guard status == 0, let request else { throw compiled.library.failed(compiled.path, "create a request", status) }
        pointer = request
    }

    deinit { covino_free_request(library.table, pointer) }

    var width: Int? { compiled.width }

    func run(
        _ inputs: [UnsafeBufferPointer<Float>],
        _ outputs: [UnsafeMutableBufferPointer<Float>],
        scope: ComputeScope
    ) throws {
        for (index, (values, port)) in zip(inputs, compiled.inputs).enumerated() {
            // Read only; the pointer has the type shared by inputs and outputs.
            try bind(UnsafeMutablePointer(mutating: values.baseAddress), port, index, ofOutputs: 0)
        }
        for (index, (values, port)) in zip(outputs, compiled.outputs).enumerated() {
            try bind(values.baseAddress, port, index, ofOutputs: 1)
        }
        try done(covino_start(library.table, pointer), "start a run")
        var status = covino_wait_for(library.table, pointer, Self.sliceMilliseconds)
        while status == Int32(COVINO_NOT_READY) {
            if scope.flag.isCancelled {
                _ = covino_cancel(library.table, pointer)
                // The buffers are in use until it has stopped, after the current layer.
                status = covino_wait(library.table, pointer)
                break
            }
            status = covino_wait_for(library.table, pointer, Self.sliceMilliseconds)
        }
        if status == Int32(COVINO_CANCELLED) { throw CancelledError() }
        try done(status, "run it")
    }

    private func bind(
        _ values: UnsafeMutablePointer<Float>?,
        _ port: TensorPort,
        _ index: Int,
        ofOutputs: Int32
    ) throws(EngineError) {
        let extents = port.shape.map(Int64.init)
        let place = covino_place(of_outputs: ofOutputs, index: index)
        let status = covino_bind(library.table, pointer, place, Int32(extents.count), extents, values)
        try done(status, "set the buffer of '\(port.name)'")
    }

    private func done(_ status: Int32, _ step: String) throws(EngineError) {
        guard status == 0 else { throw library.failed(compiled.path, step, status) }
    }
}
