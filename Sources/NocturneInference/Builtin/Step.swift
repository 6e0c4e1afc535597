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
    /// Sources that the output may overlap where no later step reads them, with the distances for that.
    var overlaps: [WorkspacePlanner.Overlap] { get }
    /// Scratch memory that one thread needs while it works on the step.
    var scratchBytes: Int { get }
    /// Bytes of weights that were packed for the step.
    var packedBytes: Int { get }
    /// The operations and the memory traffic of a run.
    var work: StepWork { get }

    func run(_ run: PlanRun) throws(CancelledError)
}

extension Step {
    var overlaps: [WorkspacePlanner.Overlap] { [] }
    var scratchBytes: Int { 0 }
    var packedBytes: Int { 0 }
}

/// The data that the steps of a run work on. All pointers are valid for the duration of the run.
struct PlanRun: @unchecked Sendable {
    // Unchecked: steps write disjoint parts from each thread, and one step runs at a time.
    let buffers: [UnsafeMutableRawPointer]
    let scratch: ScratchSlots
    let scope: ComputeScope
    let failure = Failure()

    func floats(_ buffer: Int) -> UnsafeMutablePointer<Float> { buffers[buffer].assumingMemoryBound(to: Float.self) }

    func doubles(_ buffer: Int) -> UnsafeMutablePointer<Double> { buffers[buffer].assumingMemoryBound(to: Double.self) }

    /// Divides a loop over `count` elements, each with about `cost` floats of memory traffic, into parts large enough
    /// to be worth passing to another thread.
    func forEachPart(of count: Int, cost: Int, _ body: @Sendable (Int, Int) -> Void) throws(CancelledError) {
        let stride = max(1, StepWork.elementsOfPart / max(cost, 1))
        try scope.forEachRange(of: count, by: stride) { body($0.lowerBound, $0.upperBound) }
    }
}

extension PlanRun {
    /// Why the values of a run do not fit the network, such as an index out of range. One reason is kept.
    final class Failure: Sendable {
        private let stored = Mutex<String?>(nil)

        var reason: String? { stored.withLock { $0 } }

        func record(_ reason: String) { stored.withLock { $0 = $0 ?? reason } }
    }

    /// Scratch memory, one slot for each thread that works on a run. A thread takes a slot for a chunk and returns it.
    final class ScratchSlots: @unchecked Sendable {
        // Unchecked: the slots are disjoint, and each is held by one thread at a time.
        private let base: UnsafeMutableRawPointer
        private let stride: Int
        private let free: Mutex<[Int]>

        /// - Parameter base: `count * stride` bytes that must stay allocated longer than this object.
        init(base: UnsafeMutableRawPointer, stride: Int, count: Int) {
            self.base = base
            self.stride = stride
            free = Mutex(Array(0..<count))
        }

        func withSlot(_ body: (UnsafeMutableRawPointer) -> Void) {
            let slot = free.withLock { $0.popLast() }
            // A scope never runs more bodies at once than its width, and the session created that many slots.
            guard let slot else { preconditionFailure("more threads than the scope's width") }
            body(base + slot * stride)
            free.withLock { $0.append(slot) }
        }
    }
}

extension ExecutionPlan {
    /// Where the content of a buffer is stored.
    enum Place: Sendable {
        /// In the workspace, whose layout the planner computes.
        case workspace
        /// Weights and other constants.
        case constant(FrozenVoxels<Float>)
        case input(Int)
        case output(Int)
    }
}
