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
    public var value: UInt16
    public var voxelCount: Int
    public var referenceVoxelCount: Int
    public var sharedVoxelCount: Int
    /// Nil where ``dice`` is nil, where one of the two has no voxel, or for the reason in ``problem``.
    public var distances: SurfaceDistances?
    public var problem: String?

    /// 2·|A∩B| / (|A|+|B|); nil when neither has the label.
    public var dice: Double? {
        let sum = voxelCount + referenceVoxelCount
        return sum == 0 ? nil : 2 * Double(sharedVoxelCount) / Double(sum)
    }

    public init(
        value: UInt16,
        voxelCount: Int,
        referenceVoxelCount: Int,
        sharedVoxelCount: Int,
        distances: SurfaceDistances? = nil,
        problem: String? = nil
    ) {
        self.value = value
        self.voxelCount = voxelCount
        self.referenceVoxelCount = referenceVoxelCount
        self.sharedVoxelCount = sharedVoxelCount
        self.distances = distances
        self.problem = problem
    }
}
