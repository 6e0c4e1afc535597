internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// A plan with its workspace.
final class BuiltinSession: NetworkSession {
    private let plan: ExecutionPlan
    private let path: String
    private let memory: SessionMemory
    /// If set to a list, receives the time of every step of the next run.
    var stepSeconds: [Double]?

    var stepTitles: [String] { plan.steps.map(\.title) }
    var stepWorks: [StepWork] { plan.steps.map(\.work) }
    /// Operations of the direct method for convolutions and linear layers.
    var convolutionOperations: Double {
        stepWorks.reduce(0) { $1.kind.isConvolution ? $0 + $1.operations : $0 }
    }

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

    private var binding: TensorBinding { TensorBinding(network: path, inputs: plan.inputs, outputs: plan.outputs) }

    var inputShapes: [String: [Int]] { binding.inputShapes }
    var outputShapes: [String: [Int]] { binding.outputShapes }
    var workspaceBytes: Int { memory.byteCount }

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
                        // Read only; the pointer has the type shared by inputs and outputs.
                        values.withUnsafeBufferPointer {
                            UnsafeMutableRawPointer(mutating: $0.baseAddress ?? .init(outputs[0]))
                        }
                    case .input(let number): UnsafeMutableRawPointer(mutating: inputs[number])
                    case .output(let number): UnsafeMutableRawPointer(outputs[number])
                    }
                }
                let slots = ScratchSlots(base: scratchBase, stride: max(plan.scratchBytes, 1), count: slotCount)
                let run = PlanRun(buffers: pointers, scratch: slots, scope: scope)
                for step in plan.steps {
                    try scope.check()
                    let begin = scope.time.monotonic
                    try step.run(run)
                    if let reason = run.failure.reason {
                        throw ModelFormatError.shapeMismatch(network: path, reason: reason)
                    }
                    stepSeconds?.append((scope.time.monotonic - begin).inSeconds)
                }
            }
        }
    }
}
