internal import CONNXRuntime
internal import Foundation
internal import Synchronization

/// Runs networks with ONNX Runtime, on an NVIDIA GPU or on the processor.
///
/// The library is loaded at run time through its C interface, version 1.17 or later. Its telemetry is switched off before
/// anything else is called. On a GPU, convolutions are computed in float32 without TF32, with the algorithms that cuDNN's
/// heuristic names: results are the same from run to run for one device, driver and libraries. What a GPU computes is
/// compared with the processor, see ``CheckedNetwork``.
public struct ONNXRuntimeEngine: InferenceEngine {
    private let library: ONNXRuntimeLibrary
    /// Nil for the processor.
    private let gpu: CUDADevice?
    /// Why `auto` does not use a GPU; nil if it does, or was not asked for.
    private let absence: String?
    /// The GPU, where tiles can stay on it; else why they cannot. Nil for the processor.
    private let tiles: Result<TileDevice, EngineError>?
    private let environment: [String: String]
    private var weights = PackedWeights()

    private static let states = Mutex<[Int: DeviceState]>([:])

    /// - Parameter environment: `NOCTURNE_ONNXRUNTIME` may name the library's location, `NOCTURNE_DEVICE` a device (see
    ///   ``InferenceDevice``), and `NOCTURNE_RECHECK` how often the device is checked.
    /// - Throws: ``EngineError``
    public init(environment: [String: String]) throws(EngineError) {
        self.environment = environment
        library = try ONNXRuntimeLibrary.shared(environment)
        let wanted = InferenceDevice(environment: environment)
        do {
            gpu = try Self.device(wanted, library)
            absence = nil
        } catch {
            if wanted.isDemanded { throw .noDevice("\(wanted) cannot be used: \(error)") }
            (gpu, absence) = (nil, error.description)
        }
        tiles = gpu.map { TileDevice.cuda($0.number) }
    }

    /// In the registry.
    public static let kind = InferenceEngineKind(
        name: "onnxruntime",
        title: "ONNX Runtime",
        needsInstallation: true,
        // Takes no time where there is no NVIDIA driver with a device.
        mayUseDevice: { environment in
            switch InferenceDevice(environment: environment) {
            case .cpu: false
            case .cuda: true
            case .auto: (try? CUDADevice.count()) != nil
            }
        },
        make: { try ONNXRuntimeEngine(environment: $0) }
    )

    /// A device that the library can use; nil for the processor.
    private static func device(
        _ wanted: InferenceDevice,
        _ library: ONNXRuntimeLibrary
    ) throws(EngineError) -> CUDADevice? {
        let number: Int
        switch wanted {
        case .cpu: return nil
        case .auto: number = 0
        case .cuda(let wanted): number = wanted
        }
        // From cheap to expensive: the driver, the library's build, the device, then the libraries of CUDA and a test of the
        // provider.
        _ = try CUDADevice.count()
        guard library.providers.contains("CUDA") else {
            throw .noDevice(
                "\(library.path) runs on the processor only. \(ONNXRuntimeLibrary.installation(gpu: true))"
            )
        }
        let device = try CUDADevice.usable(number)
        library.preloadCUDA()
        var message = MessageBuffer()
        guard message.fill({ conort_check_cuda(library.table, Int32(number), $0, $1) }) == 0 else {
            throw .noDevice(EngineError.condensed(message.text))
        }
        guard CUDADevice.cudnnVersion != nil else { throw .noDevice("cuDNN 9 (libcudnn.so.9) was not found") }
        return device
    }

    /// `onnxruntime`
    public var name: String { Self.kind.name }

    /// For example `1.31.1`.
    public var version: String? { library.version }

    /// The path of the loaded library.
    public var libraryPath: String { library.path }

    /// float32 without TF32 in both cases.
    public var precisions: [InferencePrecision] { [.exact, .float32] }

    /// `cpu` or `cuda:N`.
    public var device: String { gpu.map { "cuda:\($0.number)" } ?? "cpu" }

    /// On a GPU also the version of the library and the name of the GPU.
    public var identity: String { gpu.map { "\(name) \(library.version) cuda \($0.name)" } ?? name }

    /// The limit concerns the builtin engine, which checks the device.
    public func sharing(_ weights: PackedWeights) -> any InferenceEngine {
        var engine = self
        engine.weights = weights
        return engine
    }

    /// Library, providers, devices and their memory, or why there is none.
    public var facts: String {
        var parts = ["\(library.version) in \(library.path)", "providers \(library.providers.joined(separator: ", "))"]
        let count = (try? CUDADevice.count()) ?? 0
        for number in 0..<count {
            guard let one = try? CUDADevice(number, readsFree: true) else { continue }
            let free = Double(one.freeBytes ?? 0) / 0x1p30
            let total = Double(one.totalBytes) / 0x1p30
            parts.append(
                "cuda:\(number) \(one.name), \((free * 10).rounded() / 10) of \((total * 10).rounded() / 10) GiB free, "
                    + "driver \(one.driver)"
            )
        }
        if let cudnn = CUDADevice.cudnnVersion { parts.append("cuDNN \(cudnn)") }
        parts.append(absence.map { "no GPU is used: \($0)" } ?? "networks run on \(device)")
        switch tiles {
        case .success: parts.append("tiles stay on \(device)")
        case .failure(let error): parts.append("tiles are blended on the processor: \(error)")
        case nil: break
        }
        return parts.joined(separator: "; ")
    }

    /// What ONNX Runtime lacks is known only by loading a network.
    public func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork {
        try check(precision)
        guard let device = gpu else { return try onProcessor(path) }
        // The processor's session is made too: it recomputes one tile in some hundred, and takes over after a fault.
        let own = try ONNXRuntimeNetwork(
            library,
            path: path,
            cuda: device.number,
            instructionSet: instructionSet,
            tiles: try? tiles?.get()
        )
        let builtin = BuiltinEngine(environment: environment).sharing(weights)
        let processor =
            try builtin.missingFeature(for: path) == nil
            ? (builtin.load(onnx: path, precision: precision), builtin.name) : (onProcessor(path), name)
        return CheckedNetwork(
            path: path,
            device: own,
            processor: processor,
            state: Self.state(of: device),
            interval: environment[InferenceDevice.recheckVariable].flatMap(Int.init) ?? InferenceDevice.defaultRecheck
        )
    }

    private func onProcessor(_ path: String) throws -> any LoadedNetwork {
        let vectors = InstructionSets.best(environment: [:])
        let identity = "onnxruntime \(library.version) cpu \(vectors)"
        return try ONNXRuntimeNetwork(library, path: path, cuda: nil, instructionSet: identity)
    }

    /// Everything that the last bits may depend on.
    private var instructionSet: String {
        guard let device = gpu else { return "" }
        let cudnn = CUDADevice.cudnnVersion ?? "unknown"
        return "\(identity), driver \(device.driver), cuDNN \(cudnn), heuristic algorithms, no TF32"
    }

    /// A device that failed is not used again by this process, whatever network it is for.
    private static func state(of device: CUDADevice) -> DeviceState {
        states.withLock { states in
            let state = states[device.number] ?? DeviceState("cuda:\(device.number) (\(device.name))")
            states[device.number] = state
            return state
        }
    }
}
