internal import CONNXRuntime
internal import Foundation
internal import Synchronization

/// The library of one path, loaded once per process and never unloaded, because its threads run until the process ends.
final class ONNXRuntimeLibrary: @unchecked Sendable {
    // Unchecked: the table is created in init; ONNX Runtime's environment may be used from any thread.
    let path: String
    /// For example `1.31.1`.
    let version: String
    /// What the library was built for, such as `CPU` and `CUDA`.
    let providers: [String]
    let table: OpaquePointer
    private let preloads = Mutex<Bool>(false)

    private static let loaded = Mutex<[String: ONNXRuntimeLibrary]>([:])

    /// The library that ``find(_:)`` finds.
    static func shared(_ environment: [String: String]) throws(EngineError) -> ONNXRuntimeLibrary {
        let path = try Self.find(environment)
        return try loaded.withLock { (loaded) throws(EngineError) in
            if let known = loaded[path] { return known }
            let library = try ONNXRuntimeLibrary(path)
            loaded[path] = library
            return library
        }
    }

    private init(_ path: String) throws(EngineError) {
        var message = MessageBuffer()
        guard let table = message.fill({ conort_open(path, $0, $1) }) else {
            throw Self.unusable(path, message.text)
        }
        self.path = path
        self.table = table
        version = String(cString: conort_version(table))
        message.fill { conort_providers(table, $0, $1) }
        providers = message.text.split(separator: ",").map {
            $0.hasSuffix("ExecutionProvider") ? String($0.dropLast("ExecutionProvider".count)) : String($0)
        }
    }

    /// Loads the NVIDIA libraries that the provider for CUDA needs, from the folder of the library, from the packages of the same
    /// Python, or else from the system's path, where the provider finds them itself.
    func preloadCUDA() {
        preloads.withLock { isDone in
            guard !isDone else { return }
            isDone = true
            let own = (path as NSString).deletingLastPathComponent
            let packages = ((own as NSString).deletingLastPathComponent as NSString).deletingLastPathComponent
            let nvidia = Self.names(in: packages + "/nvidia").sorted().map {
                "\(packages)/nvidia/\($0)/lib"
            }
            // In the order in which they need each other.
            let names = [
                "cudart", "nvJitLink", "nvrtc-builtins", "nvrtc", "cublasLt", "cublas", "curand", "cufft", "cudnn",
            ]
            for name in names.map({ "lib\($0).so" }) {
                for file in ([own] + nvidia).compactMap({ Self.library(name, in: $0) }) {
                    var message = MessageBuffer()
                    // One that does not load is named by the provider's own message.
                    _ = message.fill { conort_preload(file, $0, $1) }
                }
            }
        }
    }
}
