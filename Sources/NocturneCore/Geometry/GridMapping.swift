/// Where the voxels of one grid lie in another grid that has the same voxels in another order: axes exchanged or reversed,
/// as different programs store the same image.
public struct GridMapping: Sendable, Hashable {
    /// From the axes of the source to those of the target.
    private let orientation: AxisOrientation
    private let source: VolumeShape

    /// - Parameter tolerance: the greatest distance of corresponding corners in mm.
    /// - Returns: nil when the grids do not have the same voxels.
    public init?(of source: VolumeGeometry, in target: VolumeGeometry, tolerance: Double = 1e-3) {
        // Six orders with eight choices of direction: all rearrangements of three axes.
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
        for axes in orders where (0..<3).allSatisfy({ target.shape[$0] == source.shape[axes[$0]] }) {
            for signs in 0..<8 {
                let order = AxisOrientation(source: axes, reversed: (0..<3).map { signs >> $0 & 1 == 1 })
                guard order.geometry(from: source).matches(target, tolerance: tolerance) else { continue }
                orientation = order
                self.source = source.shape
                return
            }
        }
        return nil
    }

    /// Whether both grids have their voxels in the same order.
    public var changesNothing: Bool { orientation.changesNothing }

    /// The source's index of a voxel of the target.
    public func sourceIndex(_ i: Int, _ j: Int, _ k: Int) -> SIMD3<Int> {
        let (x, y, z) = orientation.storedIndex(of: (i, j, k), in: source)
        return SIMD3(x, y, z)
    }

    /// The offsets in the source of a row of the target: that of its first voxel, and the step to the next one.
    public func row(_ j: Int, _ k: Int) -> (start: Int, step: Int) {
        let first = sourceIndex(0, j, k)
        let step = [1, source.x, source.sliceCount][orientation.source[0]]
        return (source.offset(first.x, first.y, first.z), orientation.reversed[0] ? -step : step)
    }
}
