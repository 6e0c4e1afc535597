internal import COpenVINO
internal import NocturneConcurrency
import NocturneSystem

/// A request of a compiled network. It adapts to the width of the scope it is run with: for another width than before,
/// the network is compiled again, which takes up to a second once.
final class OpenVINOSession: NetworkSession {
    /// The maximum delay before a cancellation is noticed, and the timeout of a single wait.
    private static let sliceMilliseconds: Int64 = 20

    private let network: OpenVINONetwork
    private var plan: OpenVINOPlan
    private var request: UnsafeMutableRawPointer
    private var library: OpenVINOLibrary { network.library }

    init(network: OpenVINONetwork, plan: OpenVINOPlan) throws {
        self.network = network
        self.plan = plan
        request = try plan.makeRequest(path: network.path)
    }

    deinit { covino_free_request(library.table, request) }

    private var binding: TensorBinding {
        TensorBinding(network: network.path, inputs: plan.inputs, outputs: plan.outputs)
    }

    var inputShapes: [String: [Int]] { binding.inputShapes }
    var outputShapes: [String: [Int]] { binding.outputShapes }
    var workspaceBytes: Int { plan.bytes }

    func run(
        input: UnsafeBufferPointer<Float>,
        output: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws {
        try binding.run(input: input, output: output) { try run(inputs: $0, outputs: $1, scope: scope) }
    }

    func run(_ inputs: [String: Tensor], scope: ComputeScope) throws -> [String: Tensor] {
        try binding.run(inputs) { try run(inputs: $0, outputs: $1, scope: scope) }
    }

    /// The pointers are only used until this function returns.
    private func run(
        inputs: [UnsafePointer<Float>],
        outputs: [UnsafeMutablePointer<Float>],
        scope: ComputeScope
    ) throws {
        try scope.check()
        if scope.width != plan.width { try adopt(network.plan(inputShapes, width: scope.width)) }
        for (index, (pointer, port)) in zip(inputs, plan.inputs).enumerated() {
            // Read only; the pointer has the type shared by inputs and outputs.
            try bind(UnsafeMutablePointer(mutating: pointer), port, index, ofOutputs: false)
        }
        for (index, (pointer, port)) in zip(outputs, plan.outputs).enumerated() {
            try bind(pointer, port, index, ofOutputs: true)
        }
        try done(covino_start(library.table, request), "start a run")
        var status = covino_wait_for(library.table, request, Self.sliceMilliseconds)
        while status == COVINO_NOT_READY.status {
            if scope.flag.isCancelled {
                _ = covino_cancel(library.table, request)
                // The buffers are in use until it has stopped, after the current layer.
                status = covino_wait(library.table, request)
                break
            }
            status = covino_wait_for(library.table, request, Self.sliceMilliseconds)
        }
        if status == COVINO_CANCELLED.status { throw CancelledError() }
        try done(status, "run it")
        try scope.check()
    }

    private func adopt(_ other: OpenVINOPlan) throws {
        let made = try other.makeRequest(path: network.path)
        covino_free_request(library.table, request)
        request = made
        plan = other
    }

    private func bind(
        _ pointer: UnsafeMutablePointer<Float>,
        _ port: (name: String, shape: [Int]),
        _ index: Int,
        ofOutputs: Bool
    ) throws(OpenVINOError) {
        let status = covino_bind(
            library.table,
            request,
            ofOutputs ? 1 : 0,
            index,
            Int32(port.shape.count),
            port.shape.map(Int64.init),
            pointer
        )
        try done(status, "set the buffer of '\(port.name)'")
    }

    private func done(_ status: Int32, _ step: String) throws(OpenVINOError) {
        guard status != 0 else { return }
        throw .failed(network: network.path, step: step, message: library.message(status))
    }
}

extension RawRepresentable where RawValue == Int32 {
    fileprivate var status: Int32 { rawValue }
}

extension Int {
    fileprivate var status: Int32 { Int32(self) }
}
