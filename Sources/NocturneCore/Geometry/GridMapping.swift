/// Where the voxels of one grid lie in another grid that has the same voxels in another order: axes exchanged or reversed,
/// as different programs store the same image.
public struct GridMapping: Sendable, Hashable {
    /// For each axis of the target, the axis of the source.
    public let axes: [Int]
    /// Whether an axis of the target runs against that of the source.
    public let isReversed: [Bool]
    private let source: VolumeShape
    private let target: VolumeShape

    /// - Parameter tolerance: the greatest distance of corresponding corners in mm.
    /// - Returns: nil when the grids do not have the same voxels.
    public init?(of source: VolumeGeometry, in target: VolumeGeometry, tolerance: Double = 1e-3) {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
        for axes in orders where (0..<3).allSatisfy({ target.shape[$0] == source.shape[axes[$0]] }) {
            for signs in 0..<8 {
                let mapping = GridMapping(
                    axes: axes,
                    isReversed: (0..<3).map { signs >> $0 & 1 == 1 },
                    source: source.shape,
                    target: target.shape
                )
                if mapping.joins(source, target, tolerance) {
                    self = mapping
                    return
                }
            }
        }
        return nil
    }

    private init(axes: [Int], isReversed: [Bool], source: VolumeShape, target: VolumeShape) {
        self.axes = axes
        self.isReversed = isReversed
        self.source = source
        self.target = target
    }

    /// Whether both grids have their voxels in the same order.
    public var changesNothing: Bool { axes == [0, 1, 2] && !isReversed.contains(true) }

    /// The source's index of a voxel of the target.
    public func sourceIndex(_ i: Int, _ j: Int, _ k: Int) -> SIMD3<Int> {
        let index = [i, j, k]
        var found = SIMD3<Int>()
        for axis in 0..<3 { found[axes[axis]] = isReversed[axis] ? target[axis] - 1 - index[axis] : index[axis] }
        return found
    }

    /// The offsets in the source of a row of the target: that of its first voxel, and the step to the next one.
    public func row(_ j: Int, _ k: Int) -> (start: Int, step: Int) {
        let strides = [1, source.x, source.x * source.y]
        let first = sourceIndex(0, j, k)
        return (source.offset(first.x, first.y, first.z), isReversed[0] ? -strides[axes[0]] : strides[axes[0]])
    }

    private func joins(_ from: VolumeGeometry, _ onto: VolumeGeometry, _ tolerance: Double) -> Bool {
        for corner in 0..<8 {
            let index = (0..<3).map { corner >> $0 & 1 == 1 ? target[$0] - 1 : 0 }
            let other = sourceIndex(index[0], index[1], index[2])
            let place = onto.affine(SIMD3(Double(index[0]), Double(index[1]), Double(index[2])))
            let otherPlace = from.affine(SIMD3(Double(other.x), Double(other.y), Double(other.z)))
            let difference = place - otherPlace
            // NaN does not match either.
            guard (difference * difference).sum() <= tolerance * tolerance else { return false }
        }
        return true
    }
}
