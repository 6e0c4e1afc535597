internal import NocturneConcurrency
import NocturneSystem
internal import Synchronization

/// A network on a device, with the same network on the processor: it checks what the device computes, and takes its place
/// when the device fails.
package final class CheckedNetwork: DeviceNetwork {
    /// The largest root mean square of differences between device and processor, relative to that of the values. Sums of
    /// float32 in another order differ by 1e-6 to 1e-4 at the end of a U-Net; a device that rounds to fewer bits, or skips a
    /// part of the work, by more than this.
    package static let bound = 1e-3

    private let path: String
    let device: any LoadedNetwork
    let processor: any LoadedNetwork
    /// The name of the engine on the processor.
    private let engine: String
    let state: DeviceState
    /// One run in this number is checked; 0 checks the first one only.
    private let interval: Int
    private let counts = Mutex<(runs: Int, isProved: Bool)>((0, false))

    /// - Parameters:
    ///   - path: of the network, for errors.
    ///   - processor: with the name of its engine.
    package init(
        path: String,
        device: any LoadedNetwork,
        processor: (network: any LoadedNetwork, engine: String),
        state: DeviceState,
        interval: Int
    ) {
        self.path = path
        self.device = device
        self.processor = processor.network
        engine = processor.engine
        self.state = state
        self.interval = interval
    }

    /// Of the device.
    package var inputs: [TensorDescription] { device.inputs }
    /// Of the device.
    package var outputs: [TensorDescription] { device.outputs }
    /// Of both.
    package var weightBytes: Int { device.weightBytes + processor.weightBytes }
    /// Of the processor.
    package var packedBytes: Int { processor.packedBytes }
    /// Of the processor.
    package var packedBytesOfPlan: Int { processor.packedBytesOfPlan }
    /// Of the processor.
    package var packedLimit: Int { processor.packedLimit }
    /// Each session has its own memory.
    package var sharesMemory: Bool { false }

    /// Of what runs it from now on.
    package var instructionSet: String { state.fault == nil ? device.instructionSet : processor.instructionSet }

    /// The processor, once the device has failed.
    package var substitute: (engine: String, fault: DeviceFault)? {
        state.fault.map { (engine, DeviceFault(device: state.device, reason: $0)) }
    }

    /// Of both. A device that cannot run the network is not used.
    package func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int {
        let own = try processor.workspaceBytes(inputShapes: inputShapes, width: width)
        guard state.fault == nil else { return own }
        do {
            return try own + device.workspaceBytes(inputShapes: inputShapes, width: width)
        } catch let error as ModelFormatError {
            throw error
        } catch {
            _ = state.end("\(error)", isWrong: false)
            return own
        }
    }

    /// From the processor's network: the device need not run for that.
    package func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]] {
        try processor.outputShapes(inputShapes: inputShapes)
    }

    /// A session that runs on the device while it works. Does not need the device.
    package func makeSession(
        inputShapes: [String: [Int]],
        width: Int,
        memory: SessionMemory
    ) throws -> NetworkSession {
        let inputs = try inputs.bound(to: inputShapes, network: path)
        let shapes = try outputShapes(inputShapes: inputShapes)
        let outputs = outputs.map { (name: $0.name, shape: shapes[$0.name] ?? []) }
        let runner = Runner(self, inputShapes: inputShapes, width: width)
        return try NetworkSession(network: path, inputs: inputs, outputs: outputs, width: width) { _ in runner }
    }

    /// A session with its tensors on the device, as long as the device works and keeps them.
    package func makeDeviceSession(inputShape: [Int], width: Int) throws -> (any DeviceSession)? {
        guard state.fault == nil, let device = device as? any DeviceNetwork else { return nil }
        do {
            guard let session = try device.makeDeviceSession(inputShape: inputShape, width: width) else { return nil }
            return CheckedDeviceSession(self, session, inputShape: inputShape, width: width)
        } catch let error as ModelFormatError {
            throw error
        } catch let error as EngineError where error.code == .unresponsive {
            throw state.end("\(error)", isWrong: false)
        } catch {
            // Without memory for that, tensors are copied to the processor. A device that is at fault fails there, too.
            return nil
        }
    }

    /// Of both.
    package func dropPlans() {
        device.dropPlans()
        processor.dropPlans()
    }

    /// Counts a run. Whether it is to be checked: the first one, and one in the interval, but for inputs of one value.
    func isDue() -> Bool {
        counts.withLock { counts in
            counts.runs += 1
            return !counts.isProved || (interval > 0 && counts.runs % interval == 0)
        }
    }

    /// Whether all values are the same, so that faults do not show.
    static func isUniform(_ values: UnsafeBufferPointer<Float>) -> Bool {
        guard let first = values.first else { return true }
        return values.allSatisfy { $0.bitPattern == first.bitPattern }
    }

    /// Ends the use of the device if its values are not those of the processor.
    func compare(_ found: UnsafeMutableBufferPointer<Float>, _ expected: UnsafeMutableBufferPointer<Float>) throws {
        let difference = Tensor.relativeDifferences(found, expected).rms
        guard difference <= Self.bound else {
            let text = difference.isFinite ? "\(Float(difference))" : "infinite"
            throw state.end("a tile differs from the processor's: relative RMS difference \(text)", isWrong: true)
        }
    }

    /// Errors of the device end its use; those of the caller do not.
    func onDevice<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as CancelledError {
            throw error
        } catch let error as ModelFormatError {
            throw error
        } catch let error as DeviceFault {
            throw error
        } catch {
            throw state.end("\(error)", isWrong: false)
        }
    }

    func proved() {
        counts.withLock { $0.isProved = true }
        state.proved(self)
    }

    /// Without later checks nothing would ever be proved.
    func ran() { if interval > 0 { state.ran(self) } }

    /// Records the item as not proved until the next good check.
    package func ended(_ item: String) { state.ended(item) }
}

extension CheckedNetwork {
    /// Runs on the device while it works, else on the processor.
    fileprivate final class Runner: NetworkRunner {
        private let network: CheckedNetwork
        private let shapes: [String: [Int]]
        private let sessionWidth: Int
        private let memory = SessionMemory()
        private var device: NetworkSession?
        private var processor: NetworkSession?

        /// The sessions are made by the first run, so that a device that has no memory left for one counts as a fault.
        init(_ network: CheckedNetwork, inputShapes: [String: [Int]], width: Int) {
            self.network = network
            sessionWidth = width
            shapes = inputShapes
        }

        var workspaceBytes: Int { (device?.workspaceBytes ?? 0) + (processor?.workspaceBytes ?? 0) }

        func run(
            _ inputs: [UnsafeBufferPointer<Float>],
            _ outputs: [UnsafeMutableBufferPointer<Float>],
            scope: ComputeScope
        ) throws {
            guard network.state.fault == nil else { return try onProcessor().run(inputs, outputs, scope: scope) }
            try onDevice { try $0.run(inputs, outputs, scope: scope) }
            let isFinite = try Self.isFinite(outputs, scope)
            network.ran()
            guard network.isDue() && !inputs.allSatisfy(CheckedNetwork.isUniform) || !isFinite else { return }
            let expected = try outputs.map { try FloatBuffer(count: $0.count) }
            try withExtendedLifetime(expected) {
                let values = expected.map(\.values)
                try onProcessor().run(inputs, values, scope: scope)
                // The network's own fault, which is reported by who takes the values.
                guard try isFinite || Self.isFinite(values, scope) else { return }
                for (found, expected) in zip(outputs, values) { try network.compare(found, expected) }
                network.proved()
            }
        }

        private func onDevice<R>(_ body: (NetworkSession) throws -> R) throws -> R {
            try network.onDevice {
                let session = try device ?? makeDevice()
                device = session
                return try body(session)
            }
        }

        private func makeDevice() throws -> NetworkSession {
            try network.device.makeSession(inputShapes: shapes, width: sessionWidth, memory: SessionMemory())
        }

        private func onProcessor() throws -> NetworkSession {
            // A device that is not used needs no memory.
            if network.state.fault != nil { device = nil }
            let session =
                try processor ?? network.processor.makeSession(inputShapes: shapes, width: sessionWidth, memory: memory)
            processor = session
            return session
        }

        /// Values that are not finite are compared in any case: a device that returns them may be at fault, or the network.
        private static func isFinite(_ buffers: [UnsafeMutableBufferPointer<Float>], _ scope: ComputeScope) throws
            -> Bool
        {
            let isFinite = Atomic<Bool>(true)
            for buffer in buffers {
                nonisolated(unsafe) let values = buffer
                try scope.forEachRange(of: values.count, by: 1 << 18) { range in
                    if !values[range].allSatisfy(\.isFinite) { isFinite.store(false, ordering: .relaxed) }
                }
            }
            return isFinite.load(ordering: .relaxed)
        }
    }
}
