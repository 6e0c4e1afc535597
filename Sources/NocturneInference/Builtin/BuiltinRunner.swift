internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// A plan with its workspace.
final class BuiltinRunner: NetworkRunner {
    private let plan: ExecutionPlan
    private let path: String
    private let memory: SessionMemory
    /// If set to a list, receives the time of every step of the next run.
    var stepSeconds: [Double]?

    var stepTitles: [String] { plan.titles }
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
            workspace: max(plan.layout(width: width).bytes, 1),
            scratch: max(plan.scratchBytes, 1) * max(width, 1)
        )
    }

    var workspaceBytes: Int { memory.byteCount }

    func run(
        _ inputs: [UnsafeBufferPointer<Float>],
        _ outputs: [UnsafeMutableBufferPointer<Float>],
        scope: ComputeScope
    ) throws {
        try reserve(width: scope.width)
        let layout = plan.layout(width: scope.width)
        let slotCount = memory.scratch.count / max(plan.scratchBytes, 1)
        try memory.workspace.withUnsafeMutableBufferPointer { workspace in
            try memory.scratch.withUnsafeMutableBufferPointer { scratch in
                guard let base = workspace.baseAddress, let scratchBase = scratch.baseAddress else { return }
                // In place of the address of an empty buffer, which is not used.
                let none = UnsafeMutableRawPointer(base)
                let pointers = plan.places.enumerated().map { index, place in
                    switch place {
                    case .workspace: UnsafeMutableRawPointer(base + layout.offsets[index])
                    case .constant(let values):
                        // Read only; the pointer has the type shared by inputs and outputs.
                        values.withUnsafeBufferPointer { UnsafeMutableRawPointer(mutating: $0.baseAddress) ?? none }
                    case .input(let number): UnsafeMutableRawPointer(mutating: inputs[number].baseAddress) ?? none
                    case .output(let number): UnsafeMutableRawPointer(outputs[number].baseAddress) ?? none
                    }
                }
                let slots = PlanRun.ScratchSlots(base: scratchBase, stride: max(plan.scratchBytes, 1), count: slotCount)
                let run = PlanRun(buffers: pointers, scratch: slots, scope: scope)
                for (step, title) in zip(plan.steps, plan.titles) {
                    try scope.check()
                    let begin = scope.time.monotonic
                    try step.run(run)
                    if let reason = run.failure.reason {
                        throw ModelFormatError.shapeMismatch(network: path, reason: "\(title): \(reason)")
                    }
                    stepSeconds?.append((scope.time.monotonic - begin).inSeconds)
                }
            }
        }
    }
}
