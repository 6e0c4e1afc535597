import NocturneCore

/// Places the logits of the part of a grid that networks see into planes of the whole grid, with 0 around them.
final class PlacedPlanes {
    /// In voxels of the whole grid.
    private let window: VoxelBox
    /// Of the whole grid.
    private let shape: VolumeShape
    private let classes: Int
    /// One plane, `[class][y][x]`.
    private var values: VoxelBuffer<Float>

    /// - Parameter window: of a grid of `shape`; it may go beyond.
    /// - Throws: `AllocationError`.
    init(_ window: VoxelBox, in shape: VolumeShape, classes: Int) throws {
        self.window = window
        self.shape = shape
        self.classes = classes
        values = try VoxelBuffer(count: Self.predictedBytes(shape, classes: classes) / MemoryLayout<Float>.stride)
    }

    /// The memory in bytes: one plane.
    static func predictedBytes(_ shape: VolumeShape, classes: Int) -> Int {
        classes * shape.sliceCount * MemoryLayout<Float>.stride
    }

    /// Calls `body` with a plane of the whole grid, `[class][y][x]`.
    /// - Parameter part: the logits of the window in this plane; nil in a plane that the window does not reach.
    func withPlane(
        _ part: UnsafeBufferPointer<Float>?,
        _ body: (UnsafeBufferPointer<Float>) throws -> Void
    ) throws {
        let (shape, window, inner) = (shape, window, window.shape)
        values.withUnsafeMutableBufferPointer { values in
            guard let base = values.baseAddress else { return }
            base.update(repeating: 0, count: values.count)
            guard let part = part?.baseAddress else { return }
            let (first, last) = (max(window.lower.x, 0), min(window.upper.x, shape.x))
            for row in 0..<classes * inner.y {
                let (plane, y) = (row / inner.y, row % inner.y + window.lower.y)
                guard (0..<shape.y).contains(y) else { continue }
                let target = base + (plane * shape.y + y) * shape.x + first
                target.update(from: part + row * inner.x + first - window.lower.x, count: last - first)
            }
        }
        try values.withUnsafeBufferPointer(body)
    }
}
