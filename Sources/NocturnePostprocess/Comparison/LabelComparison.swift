public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// The agreement of a label with a reference on the same grid.
///
/// The boundary of a mask consists of its voxels with a neighbour across one of six faces that is not in the mask;
/// voxels outside the volume count as not in it. Distances are exact, from centre to centre in mm. As in DeepMind's
/// surface-distance, each direction has its own percentile and the larger one counts; unlike there, every boundary
/// voxel has the same weight, where that package weights them by an estimate of their surface. Percentiles are
/// interpolated linearly between ranks, as in NumPy.
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

    /// ``SurfaceDistances/surfaceDice``; 0 where exactly one of the two has the label, nil where neither has it and for the
    /// reason in ``problem``.
    public var surfaceDice: Double? {
        (voxelCount == 0) != (referenceVoxelCount == 0) ? 0 : distances?.surfaceDice
    }

    /// mm. About a voxel of the usual scans.
    public static let standardTolerance = 1.0

    /// Compares all `values`, one after the other.
    ///
    /// Time: one pass over both maps, then for every label a few passes over the joint bounding box of its two masks.
    /// Extra memory: at most ``predictedBytes(of:boundaryLimit:threads:)``. The result is bit-identical for any
    /// number of threads.
    /// - Parameters:
    ///   - tolerance: mm; surfaces within it count as the same for ``LabelComparison/SurfaceDistances/surfaceDice``.
    ///   - boundaryLimit: the maximum number of boundary voxels of both masks together; a label with more gets its
    ///     Dice, and a problem instead of distances.
    /// - Throws: `CancelledError` when the flag of `scope` is raised; `AllocationError`.
    /// - Precondition: both maps have the same shape.
    public static func compare(
        labels: LabelVolume,
        reference: LabelVolume,
        values: [UInt16],
        tolerance: Double = standardTolerance,
        boundaryLimit: Int = 1 << 24,
        scope: ComputeScope
    ) throws -> [LabelComparison] {
        let geometry = labels.geometry
        precondition(geometry.shape == reference.geometry.shape, "labels and reference have different shapes")
        let own = try LabelMeasurement.measure(labels: labels, image: nil, values: values, scope: scope)
        let other = try LabelMeasurement.measure(labels: reference, image: nil, values: values, scope: scope)
        let shared = try sharedCounts(labels, reference, values, scope)
        var result: [LabelComparison] = []
        for (place, value) in values.enumerated() {
            var comparison = LabelComparison(
                value: value,
                voxelCount: own[place].voxelCount,
                referenceVoxelCount: other[place].voxelCount,
                sharedVoxelCount: shared[place]
            )
            if let box = own[place].boundingBox, let otherBox = other[place].boundingBox {
                // The distance transform works axis by axis, which gives Euclidean distances on perpendicular axes only.
                if isOrthogonal(geometry.affine) {
                    let distances = BoundaryDistances(
                        value: value,
                        box: box.union(otherBox),
                        spacing: geometry.spacing,
                        tolerance: tolerance,
                        limit: boundaryLimit
                    )
                    comparison.distances = try distances.between(labels, reference, scope: scope)
                    if comparison.distances == nil {
                        comparison.problem = "its boundary has more than \(boundaryLimit) voxels"
                    }
                } else {
                    comparison.problem = "the grid's axes are not perpendicular"
                }
            }
            result.append(comparison)
        }
        return result
    }

    /// 4 bytes per voxel of the whole grid, 8 per boundary voxel, and one plane per thread.
    public static func predictedBytes(of shape: VolumeShape, boundaryLimit: Int, threads: Int) -> Int {
        let plane = shape.x * shape.z * 8 + max(shape.x, shape.y, shape.z) * 64
        return shape.count * 4 + boundaryLimit * 8 + threads * plane + (1 << 20)
    }

    private static func isOrthogonal(_ affine: Affine) -> Bool {
        [(0, 1), (0, 2), (1, 2)].allSatisfy { a, b in
            let (u, v) = (affine.column(a), affine.column(b))
            return abs(dot(u, v)) <= 1e-3 * length(u) * length(v)
        }
    }

    /// For every value, the number of voxels on which both agree.
    private static func sharedCounts(
        _ labels: LabelVolume,
        _ reference: LabelVolume,
        _ values: [UInt16],
        _ scope: ComputeScope
    ) throws(CancelledError) -> [Int] {
        let wanted = Array(Set(values)).sorted()
        var places = [Int32](repeating: -1, count: 1 << 16)
        for (place, value) in wanted.enumerated() { places[Int(value)] = Int32(place) }
        // Parts of fixed size with separate counts, because threads must not write to the same element.
        let table = places
        let parts = try labels.voxels.withParallelReader { a throws(CancelledError) in
            try reference.voxels.withParallelReader { b throws(CancelledError) in
                try scope.mapRanges(of: labels.voxels.count, by: 1 << 20) { range in
                    var counts = [Int](repeating: 0, count: wanted.count)
                    for index in range where a[index] == b[index] {
                        let place = Int(table[Int(a[index])])
                        if place >= 0 { counts[place] += 1 }
                    }
                    return counts
                }
            }
        }
        return values.map { value in parts.reduce(0) { $0 + $1[Int(places[Int(value)])] } }
    }
}

extension LabelComparison {
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
    }
}
