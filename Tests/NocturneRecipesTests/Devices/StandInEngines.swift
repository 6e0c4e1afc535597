import NocturneConcurrency
import NocturneInference
import Synchronization

/// The builtin engine, which counts how often its networks run.
final class CountingEngine: InferenceEngine {
    private let base = BuiltinEngine()
    private let count = Mutex(0)
    private let onRun: @Sendable (Int) -> Void
    /// Counts runs of sessions that keep their tensors on a device; nil where none does.
    private let residents: Counter?

    /// - Parameter onRun: gets the number of each run, from 1, before it.
    init(residents: Counter? = nil, onRun: @escaping @Sendable (Int) -> Void = { _ in }) {
        self.residents = residents
        self.onRun = onRun
    }

    var runs: Int { count.withLock { $0 } }
    var name: String { base.name }
    var precisions: [InferencePrecision] { base.precisions }

    func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork {
        var network = WrappedNetwork(try base.load(onnx: path, precision: precision)) { [self] _, run in
            let number = count.withLock { count in
                count += 1
                return count
            }
            onRun(number)
            try run()
        }
        network.residents = residents
        return network
    }
}

/// The builtin engine, whose networks fail: they return no numbers, or do not run.
struct FailingEngine: InferenceEngine {
    enum Failure: Sendable, CaseIterable {
        case notANumber
        case doesNotRun
        /// The outputs have other names than the package's.
        case otherOutput
    }

    let failure: Failure
    private let base = BuiltinEngine()

    init(_ failure: Failure) { self.failure = failure }

    var name: String { base.name }
    var precisions: [InferencePrecision] { base.precisions }

    func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork {
        let failure = failure
        var network = WrappedNetwork(try base.load(onnx: path, precision: precision)) { outputs, run in
            if failure == .doesNotRun {
                throw ModelFormatError.shapeMismatch(network: "network.onnx", reason: "for a test")
            }
            try run()
            if failure == .notANumber { for output in outputs { output.update(repeating: .nan) } }
        }
        if failure == .otherOutput { network.prefix = "other " }
        return network
    }
}

/// The builtin engine, whose networks describe themselves otherwise.
struct DescribingEngine: InferenceEngine {
    /// At the end of every output.
    var activation: FinalActivation?
    /// Inputs after those of the file.
    var moreInputs: [TensorDescription] = []
    private let base = BuiltinEngine()

    init(activation: FinalActivation? = nil, moreInputs: [TensorDescription] = []) {
        self.activation = activation
        self.moreInputs = moreInputs
    }

    var name: String { base.name }
    var precisions: [InferencePrecision] { base.precisions }

    func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork {
        var network = WrappedNetwork(try base.load(onnx: path, precision: precision)) { try $1() }
        network.activation = activation
        network.moreInputs = moreInputs
        return network
    }
}

/// A stand-in for a device: the builtin engine behind the interface of a device, with a fault from one run on.
struct FaultyEngine: InferenceEngine {
    enum Fault: String, CaseIterable {
        /// Every run fails, as with a device that is lost.
        case lost
        /// There is no memory for a session.
        case outOfMemory
        /// Outputs are wrong by one part in a hundred.
        case wrong
        /// Outputs have the other sign, and give other labels.
        case negated
        /// Outputs are not numbers.
        case notANumber
        case none
    }

    struct DeviceError: Error, CustomStringConvertible { let description: String }

    let fault: Fault
    /// The run with the fault, from 1.
    let from: Int
    /// One run in so many is checked.
    var interval = 1
    /// Whether tiles stay on the device.
    var keepsTiles = false
    let state = DeviceState("cuda:0 (stand-in)")
    /// Of the device.
    let runs = Counter()
    /// Of sessions that keep their tensors on the device.
    let residents = Counter()
    private let base = BuiltinEngine()

    init(_ fault: Fault, from: Int, interval: Int = 1, keepsTiles: Bool = false) {
        self.fault = fault
        self.from = from
        self.interval = interval
        self.keepsTiles = keepsTiles
    }

    var name: String { "onnxruntime" }
    var device: String { "cuda:0" }
    var precisions: [InferencePrecision] { base.precisions }

    func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork {
        let (runs, fault, from) = (runs, fault, from)
        var network = WrappedNetwork(try base.load(onnx: path, precision: precision)) { outputs, run in
            let isFaulty = runs.next() >= from
            if isFaulty, fault == .lost {
                throw DeviceError(description: "CUDA error 719: unspecified launch failure")
            }
            try run()
            guard isFaulty else { return }
            for output in outputs {
                for index in output.indices {
                    if fault == .wrong { output[index] *= 1.01 }
                    if fault == .negated { output[index].negate() }
                    if fault == .notANumber { output[index] = .nan }
                }
            }
        }
        network.instructionSet = "stand-in"
        if keepsTiles { network.residents = residents }
        if fault == .outOfMemory {
            let sessions = Counter()
            network.onSession = {
                if sessions.next() >= from { throw DeviceError(description: "CUDA error 2: out of memory") }
            }
        }
        return CheckedNetwork(
            path: path,
            device: network,
            processor: (try base.load(onnx: path, precision: precision), base.name),
            state: state,
            interval: interval
        )
    }
}

final class Counter: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    /// The number of this call, from 1.
    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}

/// A network of the builtin engine, with something done around each of its runs.
struct WrappedNetwork: DeviceNetwork {
    /// Given the outputs, and what fills them.
    typealias Around =
        @Sendable (_ outputs: [UnsafeMutableBufferPointer<Float>], _ run: () throws -> Void) throws -> Void

    private let base: any LoadedNetwork
    private let around: Around
    var instructionSet: String
    /// Of the names of a session's outputs.
    var prefix = ""
    /// Counts runs of sessions that keep their tensors on a device; nil where none does.
    var residents: Counter?
    /// Called before a session is made.
    var onSession: @Sendable () throws -> Void = {}
    /// At the end of every output.
    var activation: FinalActivation?
    /// Inputs after those of the file.
    var moreInputs: [TensorDescription] = []

    init(_ base: any LoadedNetwork, around: @escaping Around) {
        self.base = base
        self.around = around
        instructionSet = base.instructionSet
    }

    var inputs: [TensorDescription] { base.inputs + moreInputs }
    var outputs: [TensorDescription] {
        base.outputs.map { output in
            var output = output
            output.activation = activation ?? output.activation
            return output
        }
    }
    var weightBytes: Int { base.weightBytes }
    var packedBytes: Int { base.packedBytes }
    var packedLimit: Int { base.packedLimit }
    var sharesMemory: Bool { base.sharesMemory }

    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int {
        try base.workspaceBytes(inputShapes: inputShapes, width: width)
    }

    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]] {
        try base.outputShapes(inputShapes: inputShapes)
    }

    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> NetworkSession {
        try onSession()
        let session = try base.makeSession(inputShapes: inputShapes, width: width, memory: memory)
        let outputs = session.outputs.map { (name: prefix + $0.name, shape: $0.shape) }
        return try NetworkSession(network: "", inputs: session.inputs, outputs: outputs, width: width) { _ in
            WrappedRunner(session, around)
        }
    }

    func makeDeviceSession(inputShape: [Int], width: Int) throws -> (any DeviceSession)? {
        guard let residents else { return nil }
        return try WrappedDeviceSession(makeSession(inputShape: inputShape, width: width), residents)
    }

    func dropPlans() { base.dropPlans() }
}

/// A session whose tensors are in the memory of a device, which is that of the processor.
private final class WrappedDeviceSession: DeviceSession {
    let device = TileDevice.host
    let input: DeviceMemory
    private(set) var output: DeviceMemory
    private let base: NetworkSession
    private let runs: Counter

    init(_ base: NetworkSession, _ runs: Counter) throws {
        self.base = base
        self.runs = runs
        input = try device.allocate(base.inputs[0].shape.reduce(1, *), of: Float.self)
        output = try device.allocate(base.outputs[0].shape.reduce(1, *), of: Float.self)
    }

    func run(_ scope: ComputeScope, input _: (UnsafeMutableBufferPointer<Float>) throws -> Void) throws -> Bool {
        _ = runs.next()
        var values = [Float](repeating: 0, count: input.floats)
        var results = [Float](repeating: 0, count: output.floats)
        try values.withUnsafeMutableBufferPointer { try device.download(input, to: $0) }
        try values.withUnsafeBufferPointer { values in
            try results.withUnsafeMutableBufferPointer { try base.run(input: values, output: $0, scope: scope) }
        }
        output = try results.withUnsafeBufferPointer { try device.allocate(copying: $0) }
        return results.allSatisfy(\.isFinite)
    }

    func onDevice<R>(_ body: () throws(EngineError) -> R) throws -> R { try body() }
}

private final class WrappedRunner: NetworkRunner {
    private let base: NetworkSession
    private let around: WrappedNetwork.Around

    init(_ base: NetworkSession, _ around: @escaping WrappedNetwork.Around) {
        self.base = base
        self.around = around
    }

    var workspaceBytes: Int { base.workspaceBytes }

    func run(
        _ inputs: [UnsafeBufferPointer<Float>],
        _ outputs: [UnsafeMutableBufferPointer<Float>],
        scope: ComputeScope
    ) throws {
        try around(outputs) { try base.run(inputs, outputs, scope: scope) }
    }
}
