import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// The distances between the surfaces of two masks, in mm.
public struct SurfaceDistances: Hashable, Sendable, Codable {
    /// The mean over the boundary voxels of both masks of the distance to the nearest one of the other mask.
    public var mean: Double
    /// The larger of the two directions' 95th percentiles.
    public var hausdorff95: Double
    /// The largest distance.
    public var hausdorff: Double
    /// The share of the boundary voxels of both masks that have one of the other mask within the tolerance: the surface Dice
    /// coefficient of Nikolov et al. (Deep learning to achieve clinically applicable segmentation of head and neck anatomy for
    /// radiotherapy, 2018), with equal weights.
    public var surfaceDice: Double

    public init(mean: Double, hausdorff95: Double, hausdorff: Double, surfaceDice: Double) {
        self.mean = mean
        self.hausdorff95 = hausdorff95
        self.hausdorff = hausdorff
        self.surfaceDice = surfaceDice
    }
}

/// The agreement of a label with a reference.
public struct LabelComparison: Hashable, Sendable {
    /// The label.
    public var value: UInt16
    /// Voxels of the result with this label.
    public var voxelCount: Int
    /// Voxels of the reference with this label.
    public var referenceVoxelCount: Int
    /// Voxels that have it in both.
    public var sharedVoxelCount: Int
    /// Nil where ``dice`` is nil, where one of the two has no voxel, or for the reason in ``problem``.
    public var distances: SurfaceDistances?
    /// Why there are no distances although both have voxels; nil otherwise.
    public var problem: String?

    /// 2·|A∩B| / (|A|+|B|); nil when neither has the label.
    public var dice: Double? {
        let sum = voxelCount + referenceVoxelCount
        return sum == 0 ? nil : 2 * Double(sharedVoxelCount) / Double(sum)
    }
}

/// A label's voxels within a box that contains all of them, and which of them are on the boundary.
struct BoundaryMask: Sendable {
    let labels: LabelVolume
    let value: UInt16
    let box: VoxelBox

    /// Whether the voxel (relative to the box's corner) has the label and one of its six neighbours does not.
    func isBoundary(_ i: Int, _ j: Int, _ k: Int) -> Bool {
        labels.voxels.withUnsafeBufferPointer { voxels in
            let shape = labels.geometry.shape
            let (x, y, z) = (box.lower.x + i, box.lower.y + j, box.lower.z + k)
            let place = voxels.baseAddress! + shape.offset(x, y, z)
            guard place[0] == value else { return false }
            if x == 0 || y == 0 || z == 0 || x == shape.x - 1 || y == shape.y - 1 || z == shape.z - 1 { return true }
            return place[-1] != value || place[1] != value || place[-shape.x] != value || place[shape.x] != value
                || place[-shape.sliceCount] != value || place[shape.sliceCount] != value
        }
    }

    /// The number of boundary voxels in every plane across j.
    func boundaryCounts(_ scope: ComputeScope) throws(CancelledError) -> [Int] {
        let size = box.shape
        var counts = [Int](repeating: 0, count: size.y)
        try counts.withUnsafeMutableBufferPointer { counts throws(CancelledError) in
            guard let base = counts.baseAddress else { return }
            let target = ParallelBuffer(base)
            try scope.forEach(size.y) { j in
                var count = 0
                for k in 0..<size.z {
                    for i in 0..<size.x where isBoundary(i, j, k) { count += 1 }
                }
                target[j] = count
            }
        }
        return counts
    }
}
