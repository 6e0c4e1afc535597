internal import NocturneCore

extension VoxelBuffer {
    /// A reference to a buffer, so that buffers can be stored in a list.
    final class Box {
        private var buffer: VoxelBuffer<Element>
        let pointer: UnsafeMutablePointer<Element>

        init(count: Int) throws(AllocationError) {
            var buffer = try VoxelBuffer<Element>(count: count)
            // Mapped memory does not move when its owner moves.
            pointer = buffer.withUnsafeMutableBufferPointer { $0.baseAddress! }
            self.buffer = buffer
        }
    }
}
