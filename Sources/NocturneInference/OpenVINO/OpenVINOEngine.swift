internal import COpenVINO

/// Runs networks with OpenVINO, for graphs with operators that ``BuiltinEngine`` does not support.
///
/// The library is loaded at run time through its C interface; it contains no telemetry and sends no data. It runs on
/// its own threads, as many as the session's width (but at most the number of cores), while the caller's thread waits.
/// A result is the same from run to run for one version, processor and width. **Another width can change its last
/// bits**: the sums of normalisation layers are divided by the number of threads, unlike those of convolutions. The
/// error of those sums grows with the number of voxels (2026.4: 2e-7 relative at 32³, 2.5e-6 at 96³, where PyTorch has
/// 8e-8). A five-stage U-Net with instance normalisation therefore differs by 7e-6 from float64 at a patch of 48³, and
/// by 1e-4 from the builtin engine at 96³. Releases from 2024 on include the C interface in their wheel.
public struct OpenVINOEngine: InferenceEngine {
    private let library: OpenVINOLibrary

    /// Finds and loads OpenVINO: from the folder or file that `NOCTURNE_OPENVINO` specifies; if that is not set, from
    /// `nocturne/openvino` in the user's data folder, the packages of python3 on the `PATH`, and the system's folders.
    ///
    /// The first call in a process takes about 20 ms and 10 MB.
    /// - Throws: ``EngineError``
    public init(environment: [String: String]) throws(EngineError) {
        library = try OpenVINOLibrary.shared(environment)
    }

    /// In the registry.
    public static let kind = InferenceEngineKind(
        name: "openvino",
        title: "OpenVINO",
        needsInstallation: true,
        make: { try OpenVINOEngine(environment: $0) }
    )

    /// `openvino`
    public var name: String { Self.kind.name }

    /// For example `2026.4.1`.
    public var version: String? { library.version }

    /// The path of the loaded library.
    public var libraryPath: String { library.path }

    /// The precisions that ``load(onnx:precision:)`` accepts: `bfloat16` only if the processor supports it.
    public var precisions: [InferencePrecision] {
        library.capabilities.contains("BF16") ? [.exact, .float32, .bfloat16] : [.exact, .float32]
    }

    /// Reads a network. `exact` and `float32` are the same here: float32 throughout.
    ///
    /// Weights in other files are supported. Temporarily needs twice the file's size in memory.
    /// - Throws: ``ModelFormatError``
    public func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork {
        try check(precision)
        return try LibraryNetwork(path: path, instructionSet: instructionSet(precision)) { graph in
            let wrong = graph?.openVINODifferences ?? []
            guard wrong.isEmpty else {
                throw EngineError(
                    .differs,
                    of: OpenVINOLibrary.library,
                    "\(path): OpenVINO returns other values than ONNX specifies for \(wrong.joined(separator: ", "))"
                )
            }
            return try OpenVINOModel(library, path: path, precision: precision)
        }
    }

    /// The engine's version and the processor's instruction set for the precision: results depend on both.
    private func instructionSet(_ precision: InferencePrecision) -> String {
        let vectors =
            switch (covino_processor(), precision) {
            case (3, .bfloat16): "amx_bf16"
            case (2, .bfloat16): "avx512_bf16"
            case (1..., _): "avx512"
            case (0, _): "avx2"
            default: "baseline"
            }
        return "openvino \(library.version) \(vectors)"
    }
}

/// Forms of operators for which OpenVINO was observed to return other values than ONNX Runtime, the builtin engine and
/// the standard (2024.6 and 2026.4). A network that contains one is refused: a wrong label map is worse than none.
extension NetworkGraph {
    var openVINODifferences: [String] {
        var found: Set<String> = []
        for node in nodes {
            switch node.op {
            case "ConvTranspose":
                // The padding implied by the shape is added on the other side.
                if let shape = node.integers("output_shape"), !shape.isEmpty {
                    found.insert("ConvTranspose (output_shape)")
                }
            case "Softmax", "LogSoftmax", "Hardmax":
                // Before operator set 13 all axes from this one on are treated as one; only for the last axis alone is
                // the meaning unchanged.
                if opset < 13, node.integer("axis", 1) != -1 {
                    found.insert("\(node.op) (operator set \(opset), axis \(node.integer("axis", 1)))")
                }
            default: break
            }
        }
        if outputsAnInput { found.insert("an output that is an input unchanged") }
        return found.sorted()
    }

    /// OpenVINO leaves the caller's buffer of such an output unchanged.
    private var outputsAnInput: Bool {
        // In execution order, so that chains are followed.
        var unchanged = Set(inputs.map(\.name))
        for node in nodes where ["Identity", "Dropout"].contains(node.op) {
            if let input = node.inputs.first, unchanged.contains(input), let output = node.outputs.first {
                unchanged.insert(output)
            }
        }
        return outputs.contains { unchanged.contains($0.name) }
    }
}
