internal import COpenVINO
internal import NocturneConcurrency

/// A network as read by OpenVINO, before it is compiled. Used by one owner at a time.
final class OpenVINOModel {
    private let library: OpenVINOLibrary
    private let path: String
    private let pointer: UnsafeMutableRawPointer

    /// - Throws: ``ModelFormatError/malformed(path:reason:)`` with OpenVINO's reason: damage, or unsupported operators.
    init(_ library: OpenVINOLibrary, path: String) throws(ModelFormatError) {
        var model: UnsafeMutableRawPointer?
        let status = covino_read(library.table, library.core, path, &model)
        guard status == 0, let model else {
            throw .malformed(path: path, reason: "OpenVINO \(library.version) says: \(library.message(status))")
        }
        self.library = library
        self.path = path
        pointer = model
    }

    deinit { covino_free_model(library.table, pointer) }

    func inputs() throws(ModelFormatError) -> [TensorDescription] { try ports(0) }
    func outputs() throws(ModelFormatError) -> [TensorDescription] { try ports(1) }

    private func ports(_ ofOutputs: Int32) throws(ModelFormatError) -> [TensorDescription] {
        var count = 0
        let status = covino_port_count(library.table, pointer, ofOutputs, &count)
        guard status == 0, count <= 10_000 else {
            throw .malformed(path: path, reason: "OpenVINO \(library.version) says: \(library.message(status))")
        }
        var descriptions: [TensorDescription] = []
        for index in 0..<count {
            var port = covino_port()
            let status = covino_describe(library.table, pointer, ofOutputs, index, &port)
            guard status == 0 else {
                throw .malformed(path: path, reason: "OpenVINO \(library.version) says: \(library.message(status))")
            }
            let name = withUnsafeBytes(of: port.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard port.is_float32 != 0 else {
                throw .malformed(path: path, reason: "'\(name)' is not float32; other types are not supported")
            }
            // An unknown number of axes and zero axes are both reported as [].
            let extents = withUnsafeBytes(of: port.extents) { bytes in
                Array(bytes.bindMemory(to: Int64.self).prefix(Int(max(port.rank, 0))))
            }
            descriptions.append(TensorDescription(name: name, shape: extents.map { $0 < 0 ? nil : Int($0) }))
        }
        return descriptions
    }

    /// Fixes the shapes of all inputs, and returns the resulting shapes of the outputs, under these names.
    /// - Throws: ``ModelFormatError/shapeMismatch(network:reason:)``
    func reshape(
        _ shapes: [(name: String, shape: [Int])],
        outputs names: [String]
    ) throws(ModelFormatError) -> [(name: String, shape: [Int])] {
        let extents = shapes.flatMap(\.shape).map(Int64.init)
        let ranks = shapes.map { Int32($0.shape.count) }
        let status = covino_reshape(library.table, pointer, shapes.count, ranks, extents)
        guard status == 0 else {
            throw .shapeMismatch(
                network: path,
                reason: "OpenVINO \(library.version) says: \(library.message(status))"
            )
        }
        var results: [(name: String, shape: [Int])] = []
        for (name, output) in zip(names, try outputs()) {
            let shape = output.shape.compactMap { $0 }
            guard shape.count == output.shape.count, shape.allSatisfy({ $0 > 0 }) else {
                throw .shapeMismatch(
                    network: path,
                    reason: "the output '\(name)' has a shape that is known at run time only, or is empty"
                )
            }
            results.append((name, shape))
        }
        return results
    }

    /// Compiles for `width` threads.
    /// - Throws: ``OpenVINOError/failed(network:step:message:)``
    func compiled(precision: InferencePrecision, width: Int) throws(OpenVINOError) -> UnsafeMutableRawPointer {
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
        let status = withCStrings(known.map(\.0) + known.map(\.1)) { texts in
            let keys = Array(texts.prefix(known.count))
            let values = Array(texts.dropFirst(known.count))
            return covino_compile(library.table, library.core, pointer, known.count, keys, values, &compiled)
        }
        guard status == 0, let compiled else {
            throw .failed(network: path, step: "compile it", message: library.message(status))
        }
        return compiled
    }
}
