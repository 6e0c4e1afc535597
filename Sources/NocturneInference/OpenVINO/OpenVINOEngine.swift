internal import COpenVINO
internal import Foundation

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
    /// - Throws: ``OpenVINOError``
    public init(environment: [String: String]) throws(OpenVINOError) {
        library = try OpenVINOLibrary.shared(try OpenVINOLocator(environment: environment).find())
    }

    public var name: String { "openvino" }

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
        guard precisions.contains(precision) else {
            throw ModelFormatError.unsupportedPrecision(asked: precision, offered: precisions)
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
            throw ModelFormatError.unreadable(path: path, reason: isFolder.boolValue ? "a folder" : "no such file")
        }
        let size = (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
        guard let size, FileManager.default.isReadableFile(atPath: path) else {
            throw ModelFormatError.unreadable(path: path, reason: "no permission")
        }
        guard size > 0 else { throw ModelFormatError.malformed(path: path, reason: "the file is empty") }
        return try OpenVINONetwork(library, path: path, precision: precision, fileBytes: size)
    }

    /// The engine's version and the processor's instruction set for the precision: results depend on both.
    static func instructionSet(_ library: OpenVINOLibrary, _ precision: InferencePrecision) -> String {
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
