internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// A plan with a workspace.
final class BuiltinSession: NetworkSession {
    private let plan: ExecutionPlan
    private let path: String
    private let memory: SessionMemory
    /// Set to a list, gets the time of every step of the next run.
    var stepSeconds: [Double]?

    var stepTitles: [String] { plan.steps.map(\.title) }
    var convolutionOperations: Double { plan.steps.reduce(0) { $0 + $1.operations } }

    init(plan: ExecutionPlan, width: Int, path: String, memory: SessionMemory) throws {
        self.plan = plan
        self.path = path
        self.memory = memory
        try reserve(width: width)
    }

    private func reserve(width: Int) throws {
        try memory.reserve(
            workspace: max(plan.layout.bytes, 1),
            scratch: max(plan.scratchBytes, 1) * max(width, 1)
        )
    }

    var inputShapes: [String: [Int]] {
        Dictionary(plan.inputs.map { ($0.name, $0.shape) }, uniquingKeysWith: { first, _ in first })
    }

    var outputShapes: [String: [Int]] {
        Dictionary(plan.outputs.map { ($0.name, $0.shape) }, uniquingKeysWith: { first, _ in first })
    }

    var workspaceBytes: Int { memory.byteCount }

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
        // Outputs that nobody asked for need a place all the same.
        var others: [VoxelBuffer<Float>.Box] = []
        for other in plan.outputs.dropFirst() { others.append(try .init(count: other.shape.reduce(1, *))) }
        try run(inputs: [from], outputs: [to] + others.map(\.pointer), scope: scope)
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
        try run(inputs: given.map { UnsafePointer($0.pointer) }, outputs: results.map(\.pointer), scope: scope)
        var tensors: [String: Tensor] = [:]
        for (output, box) in zip(plan.outputs, results) {
            let values = Array(UnsafeBufferPointer(start: box.pointer, count: output.shape.reduce(1, *)))
            tensors[output.name] = Tensor(shape: output.shape, values: values)
        }
        return tensors
    }

    private func run(
        inputs: [UnsafePointer<Float>],
        outputs: [UnsafeMutablePointer<Float>],
        scope: ComputeScope
    ) throws {
        try reserve(width: scope.width)
        let slotCount = memory.scratch.count / max(plan.scratchBytes, 1)
        try memory.workspace.withUnsafeMutableBufferPointer { workspace in
            try memory.scratch.withUnsafeMutableBufferPointer { scratch in
                guard let base = workspace.baseAddress, let scratchBase = scratch.baseAddress else { return }
                let pointers = plan.places.enumerated().map { index, place in
                    switch place {
                    case .workspace: UnsafeMutableRawPointer(base + plan.layout.offsets[index])
                    case .constant(let values):
                        // Read only; the pointer's type is the common one.
                        values.withUnsafeBufferPointer {
                            UnsafeMutableRawPointer(mutating: $0.baseAddress ?? .init(outputs[0]))
                        }
                    case .input(let number): UnsafeMutableRawPointer(mutating: inputs[number])
                    case .output(let number): UnsafeMutableRawPointer(outputs[number])
                    }
                }
                let slots = ScratchSlots(base: scratchBase, stride: max(plan.scratchBytes, 1), count: slotCount)
                let run = PlanRun(buffers: pointers, scratch: slots, scope: scope)
                let clock = ContinuousClock()
                for step in plan.steps {
                    try scope.check()
                    let begin = clock.now
                    try step.run(run)
                    stepSeconds?.append(begin.duration(to: clock.now) / .seconds(1))
                }
            }
        }
    }

    private func check(_ count: Int, _ tensor: (name: String, shape: [Int]), _ role: String) throws {
        guard count == tensor.shape.reduce(1, *) else {
            throw mismatch("the \(role) '\(tensor.name)' of shape \(tensor.shape) was given \(count) values")
        }
    }

    private func mismatch(_ reason: String) -> ModelFormatError { .shapeMismatch(network: path, reason: reason) }
}

extension VoxelBuffer {
    /// A buffer in a list.
    final class Box {
        private var buffer: VoxelBuffer<Element>
        let pointer: UnsafeMutablePointer<Element>

        init(count: Int) throws(AllocationError) {
            var buffer = try VoxelBuffer<Element>(count: count)
            // Mapped memory does not move with its owner.
            pointer = buffer.withUnsafeMutableBufferPointer { $0.baseAddress! }
            self.buffer = buffer
        }
    }
}
