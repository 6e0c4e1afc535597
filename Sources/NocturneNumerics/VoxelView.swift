public import NocturneCore

/// Describes how a part of a stored volume is read in another axis order, without copying voxels.
///
/// Voxel (i, j, k) of the view is element `origin + i * step.x + j * step.y + k * step.z` of the stored volume.
public struct VoxelView: Hashable, Sendable {
    /// The number of voxels along each axis of the view.
    public let shape: VolumeShape
    /// The stored element of voxel (0, 0, 0) of the view.
    public let origin: Int
    /// Number of elements from a voxel to its neighbour along each axis of the view; negative where an axis is
    /// reversed.
    public let step: SIMD3<Int>
    /// The number of elements of the stored volume.
    public let storedCount: Int

    /// The whole stored volume, rearranged.
    public init(stored: VolumeShape, orientation: AxisOrientation = .stored) {
        let steps = [1, stored.x, stored.sliceCount]
        var origin = 0
        var step = SIMD3(0, 0, 0)
        for axis in 0..<3 {
            let from = orientation.source[axis]
            step[axis] = orientation.reversed[axis] ? -steps[from] : steps[from]
            if orientation.reversed[axis] { origin += steps[from] * (stored[from] - 1) }
        }
        self.init(shape: orientation.shape(from: stored), origin: origin, step: step, storedCount: stored.count)
    }

    private init(shape: VolumeShape, origin: Int, step: SIMD3<Int>, storedCount: Int) {
        self.shape = shape
        self.origin = origin
        self.step = step
        self.storedCount = storedCount
    }

    /// The part inside `box`, whose indices are those of this view.
    public func cropped(to box: VoxelBox) throws(NumericsError) -> VoxelView {
        guard box.fits(in: shape) else {
            throw .shape("the box \(box.lower)..<\(box.upper) is not inside a grid of \(shape)")
        }
        let start = origin + box.lower.x * step.x + box.lower.y * step.y + box.lower.z * step.z
        return VoxelView(shape: box.shape, origin: start, step: step, storedCount: storedCount)
    }

    func offset(_ i: Int, _ j: Int, _ k: Int) -> Int { origin + i * step.x + j * step.y + k * step.z }

    /// The same voxels with axis `order[a]` as axis a.
    func permuted(_ order: [Int]) -> VoxelView {
        VoxelView(
            shape: VolumeShape(x: shape[order[0]], y: shape[order[1]], z: shape[order[2]]),
            origin: origin,
            step: SIMD3(step[order[0]], step[order[1]], step[order[2]]),
            storedCount: storedCount
        )
    }

    /// The same voxels in the order in which they are stored in memory.
    var inMemoryOrder: VoxelView {
        let axes = [0, 1, 2].sorted { abs(step[$0]) < abs(step[$1]) }
        var start = origin
        var steps = SIMD3(0, 0, 0)
        for (new, old) in axes.enumerated() {
            steps[new] = abs(step[old])
            if step[old] < 0 { start += step[old] * (shape[old] - 1) }
        }
        return VoxelView(
            shape: VolumeShape(x: shape[axes[0]], y: shape[axes[1]], z: shape[axes[2]]),
            origin: start,
            step: steps,
            storedCount: storedCount
        )
    }
}
