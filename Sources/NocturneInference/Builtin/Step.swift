internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem
internal import Synchronization

/// One call of a kernel over a whole tensor, within a plan. Steps are immutable; all changing data is in the run.
protocol Step: Sendable {
    /// Buffers whose content the step needs.
    var reads: [Int] { get }
    /// Buffers that the step fills or changes.
    var writes: [Int] { get }
    /// Scratch memory that one thread needs while it works on the step.
    var scratchBytes: Int { get }
    /// Bytes of weights that were packed for the step.
    var packedBytes: Int { get }
    /// The operations and the memory traffic of a run.
    var work: StepWork { get }
    var title: String { get }

    func run(_ run: PlanRun) throws(CancelledError)
}

extension Step {
    var scratchBytes: Int { 0 }
    var packedBytes: Int { 0 }
}

/// Where the content of a buffer is stored.
enum BufferPlace: Sendable {
    /// In the workspace, whose layout the planner computes.
    case workspace
    /// Weights and other constants.
    case constant(FrozenVoxels<Float>)
    case input(Int)
    case output(Int)
}

/// The data that the steps of a run work on. All pointers are valid for the duration of the run.
struct PlanRun: @unchecked Sendable {
    // Unchecked: steps write disjoint parts from each thread, and one step runs at a time.
    let buffers: [UnsafeMutableRawPointer]
    let scratch: ScratchSlots
    let scope: ComputeScope
    let failure = RunFailure()

    func floats(_ buffer: Int) -> UnsafeMutablePointer<Float> { buffers[buffer].assumingMemoryBound(to: Float.self) }

    func doubles(_ buffer: Int) -> UnsafeMutablePointer<Double> { buffers[buffer].assumingMemoryBound(to: Double.self) }

    /// What a part of a loop reads and writes, in floats.
    static let elementsOfPart = 1 << 16

    /// Divides a loop over `count` elements, each with about `cost` floats of memory traffic, into parts large enough
    /// to be worth passing to another thread.
    func forEachPart(of count: Int, cost: Int, _ body: @Sendable (Int, Int) -> Void) throws(CancelledError) {
        let stride = max(1, Self.elementsOfPart / max(cost, 1))
        try scope.forEachRange(of: count, by: stride) { body($0.lowerBound, $0.upperBound) }
    }
}

/// Why the values of a run do not fit the network, such as an index out of range. One reason is kept.
final class RunFailure: Sendable {
    private let stored = Mutex<String?>(nil)

    var reason: String? { stored.withLock { $0 } }

    func record(_ reason: String) { stored.withLock { $0 = $0 ?? reason } }
}
