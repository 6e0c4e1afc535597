internal import COpenVINO
internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// A request of a compiled network. It follows the width of the scope it is run with: another one than it was made for
/// compiles the network for that, which costs up to a second once.
final class OpenVINOSession: NetworkSession {
    /// How long a cancellation may go unseen, and how long it takes a wait to look again.
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

    var inputShapes: [String: [Int]] { OpenVINONetwork.dictionary(plan.inputs) }
    var outputShapes: [String: [Int]] { OpenVINONetwork.dictionary(plan.outputs) }
    var workspaceBytes: Int { plan.bytes }

    func run(
        input: UnsafeBufferPointer<Float>,
        output: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws {
        guard plan.inputs.count == 1, plan.outputs.count >= 1 else {
            throw mismatch("it has \(plan.inputs.count) inputs, and one was given")
        }
        try check(input.count, plan.inputs[0], "input")
        try check(output.count, plan.outputs[0], "output")
        guard let from = input.baseAddress, let to = output.baseAddress else { throw mismatch("an empty buffer") }
        // Outputs that nobody asked for need a place all the same: the request remembers the last one it was given.
        var others: [VoxelBuffer<Float>.Box] = []
        for other in plan.outputs.dropFirst() { others.append(try .init(count: other.shape.reduce(1, *))) }
        try withExtendedLifetime(others) {
            try run(inputs: [from], outputs: [to] + others.map(\.pointer), scope: scope)
        }
    }

    func run(_ inputs: [String: Tensor], scope: ComputeScope) throws -> [String: Tensor] {
        var given: [VoxelBuffer<Float>.Box] = []
        for input in plan.inputs {
            guard let tensor = inputs[input.name] else { throw mismatch("the input '\(input.name)' was not given") }
            guard tensor.shape == input.shape else {
                throw mismatch("the input '\(input.name)' has shape \(tensor.shape) instead of \(input.shape)")
            }
            let box = try VoxelBuffer<Float>.Box(count: tensor.values.count)
            tensor.values.withUnsafeBufferPointer { values in
                guard let base = values.baseAddress else { return }
                box.pointer.update(from: base, count: values.count)
            }
            given.append(box)
        }
        var results: [VoxelBuffer<Float>.Box] = []
        for output in plan.outputs { results.append(try .init(count: output.shape.reduce(1, *))) }
        return try withExtendedLifetime((given, results)) {
            try run(inputs: given.map { UnsafePointer($0.pointer) }, outputs: results.map(\.pointer), scope: scope)
            var tensors: [String: Tensor] = [:]
            for (output, box) in zip(plan.outputs, results) {
                let values = Array(UnsafeBufferPointer(start: box.pointer, count: output.shape.reduce(1, *)))
                tensors[output.name] = Tensor(shape: output.shape, values: values)
            }
            return tensors
        }
    }

    /// The pointers are only used until this returns.
    private func run(
        inputs: [UnsafePointer<Float>],
        outputs: [UnsafeMutablePointer<Float>],
        scope: ComputeScope
    ) throws {
        try scope.check()
        if scope.width != plan.width { try adopt(network.plan(inputShapes, width: scope.width)) }
        for (index, (pointer, port)) in zip(inputs, plan.inputs).enumerated() {
            // Read only; the pointer's type is the common one.
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
                // The buffers are in use until it has stopped: after the layer at hand.
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
        try done(status, "take the buffer of '\(port.name)'")
    }

    private func done(_ status: Int32, _ step: String) throws(OpenVINOError) {
        guard status != 0 else { return }
        throw .failed(network: network.path, step: step, message: library.message(status))
    }

    private func check(_ count: Int, _ tensor: (name: String, shape: [Int]), _ role: String) throws {
        guard count == tensor.shape.reduce(1, *) else {
            throw mismatch("the \(role) '\(tensor.name)' of shape \(tensor.shape) was given \(count) values")
        }
    }

    private func mismatch(_ reason: String) -> ModelFormatError {
        .shapeMismatch(network: network.path, reason: reason)
    }
}

extension RawRepresentable where RawValue == Int32 {
    fileprivate var status: Int32 { rawValue }
}

extension Int {
    fileprivate var status: Int32 { Int32(self) }
}
