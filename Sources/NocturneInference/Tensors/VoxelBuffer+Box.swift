internal import NocturneCore

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
