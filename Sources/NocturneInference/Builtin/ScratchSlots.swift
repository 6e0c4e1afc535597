import NocturneSystem
internal import Synchronization

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
