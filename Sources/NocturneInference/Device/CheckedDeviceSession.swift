internal import NocturneConcurrency

/// A session with its tensors on a device, which is checked as those of ``CheckedNetwork`` are.
final class CheckedDeviceSession: DeviceSession {
    private let network: CheckedNetwork
    private let base: any DeviceSession
    private let inputShape: [Int]
    private let width: Int
    private var processor: NetworkSession?

    /// - Parameter base: the session of the network's device.
    init(_ network: CheckedNetwork, _ base: any DeviceSession, inputShape: [Int], width: Int) {
        self.network = network
        self.base = base
        self.inputShape = inputShape
        self.width = width
    }

    var device: TileDevice { base.device }
    var input: DeviceMemory { base.input }
    var output: DeviceMemory { base.output }

    func onDevice<R>(_ body: () throws(EngineError) -> R) throws -> R { try network.onDevice(body) }

    func run(_ scope: ComputeScope, input: (UnsafeMutableBufferPointer<Float>) throws -> Void) throws -> Bool {
        if let fault = network.state.fault { throw DeviceFault(device: network.state.device, reason: fault) }
        let isFinite = try network.onDevice { try base.run(scope, input: input) }
        network.ran()
        guard network.isDue() || !isFinite else { return true }
        let given = try FloatBuffer(count: self.input.floats)
        try input(given.values)
        guard !CheckedNetwork.isUniform(UnsafeBufferPointer(given.values)) || !isFinite else { return true }
        try check(given, isFinite: isFinite, scope)
        return isFinite
    }

    /// Compares the network, and the kernels.
    private func check(_ given: FloatBuffer, isFinite: Bool, _ scope: ComputeScope) throws {
        let session = try processor ?? network.processor.makeSession(inputShape: inputShape, width: width)
        processor = session
        let all = try session.outputs.map { try FloatBuffer(count: $0.shape.reduce(1, *)) }
        let found = try FloatBuffer(count: output.floats)
        try onDevice { () throws(EngineError) in try device.download(output, to: found.values) }
        try withExtendedLifetime((given, all, found)) {
            try session.run([UnsafeBufferPointer(given.values)], all.map(\.values), scope: scope)
            guard let expected = all.first else { return }
            // The network's own fault, which is reported by who takes the values.
            guard isFinite || expected.values.allSatisfy(\.isFinite) else { return }
            try network.compare(found.values, expected.values)
            if let kernel = try network.onDevice({ try differingKernel() }) {
                throw network.state.end("it computes other values than the processor in \(kernel)", isWrong: true)
            }
            network.proved()
        }
    }

    /// Nil, too, while others have all of the device's memory.
    private func differingKernel() throws -> String? {
        do {
            return try device.kernel(differingFrom: .host)
        } catch let error as EngineError where error.code == .outOfMemory {
            return nil
        }
    }
}
