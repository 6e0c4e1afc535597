/// A half-open box of voxel indices: `lower` is included, `upper` is not.
public struct VoxelBox: Hashable, Sendable, Codable {
    /// The first voxel along each axis.
    public var lower: SIMD3<Int>
    /// One beyond the last voxel along each axis.
    public var upper: SIMD3<Int>

    /// - Parameters:
    ///   - lower: the first voxel along each axis.
    ///   - upper: one beyond the last voxel along each axis; a box without voxels where it is not above `lower`.
    public init(lower: SIMD3<Int>, upper: SIMD3<Int>) {
        self.lower = lower
        self.upper = upper
    }

    /// The whole of a grid.
    public init(all shape: VolumeShape) {
        self.init(lower: SIMD3(0, 0, 0), upper: SIMD3(shape.x, shape.y, shape.z))
    }

    /// The number of voxels along each axis; not positive for an empty box.
    public var shape: VolumeShape {
        VolumeShape(x: upper.x - lower.x, y: upper.y - lower.y, z: upper.z - lower.z)
    }

    /// Whether the box has voxels and all of them are voxels of `shape`.
    public func fits(in shape: VolumeShape) -> Bool {
        (0..<3).allSatisfy { lower[$0] >= 0 && lower[$0] < upper[$0] && upper[$0] <= shape[$0] }
    }

    /// The smallest box around both.
    public func union(_ other: VoxelBox) -> VoxelBox {
        VoxelBox(
            lower: pointwiseMin(lower, other.lower),
            upper: pointwiseMax(upper, other.upper)
        )
    }

    /// The smallest box around all of them; nil when there are none.
    public init?(around boxes: [VoxelBox]) {
        guard let first = boxes.first else { return nil }
        self = boxes.dropFirst().reduce(first) { $0.union($1) }
    }

    /// The same voxels in the indices of the rearranged grid.
    public func oriented(by orientation: AxisOrientation, in stored: VolumeShape) -> VoxelBox {
        var result = self
        for axis in 0..<3 {
            let from = orientation.source[axis]
            let size = stored[from]
            result.lower[axis] = orientation.reversed[axis] ? size - upper[from] : lower[from]
            result.upper[axis] = orientation.reversed[axis] ? size - lower[from] : upper[from]
        }
        return result
    }

    /// Whether a voxel of the box lies in the outermost layer of a grid.
    public func touchesBorder(of shape: VolumeShape) -> Bool {
        (0..<3).contains { lower[$0] <= 0 || upper[$0] >= shape[$0] }
    }
}
