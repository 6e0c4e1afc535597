internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore

/// The statistics of an image that normalisation needs.
public struct ImageStatistics: Hashable, Sendable {
    /// Summed in float64.
    public let mean: Double
    /// Population standard deviation (divided by the number of voxels). 0 when it was not requested.
    public let deviation: Double
    /// The smallest value.
    public let lowest: Float
    /// The largest value.
    public let highest: Float

    /// - Parameter mask: the voxels that count, in the order of the view; nil for all. If it contains none, all four
    ///   numbers are 0.
    /// - Throws: ``NumericsError/value(_:)`` when a voxel is not finite.
    public init(
        of voxels: FrozenVoxels<Float>,
        view: VoxelView,
        mask: ForegroundMask? = nil,
        deviation wanted: Bool,
        scope: ComputeScope
    ) throws {
        guard voxels.count == view.storedCount else {
            throw NumericsError.count("image to normalise", expected: view.storedCount, found: voxels.count)
        }
        guard mask?.view ?? view == view else {
            throw NumericsError.shape("the body mask covers another part of the image")
        }
        // A mask is in the order of its view; without one the image is read in memory order.
        let view = mask == nil ? view.inMemoryOrder : view
        let first = try sliceSums(voxels, view, mask, around: nil, scope)
        let count = first.reduce(0) { $0 + $1.count }
        guard count > 0 else {
            (mean, deviation, lowest, highest) = (0, 0, 0, 0)
            return
        }
        mean = first.reduce(0) { $0 + $1.sum } / count
        lowest = first.reduce(Float.infinity) { min($0, $1.lowest) }
        highest = first.reduce(-Float.infinity) { max($0, $1.highest) }
        guard mean.isFinite, lowest.isFinite, highest.isFinite else {
            throw NumericsError.value("the image has voxels that are not finite numbers, so it cannot be normalised")
        }
        // A second pass around the mean: a mean of squares would lose digits for images with large values.
        let squares = wanted ? try sliceSums(voxels, view, mask, around: mean, scope).reduce(0) { $0 + $1.sum } : 0
        deviation = (squares / count).squareRoot()
    }
}

/// One entry per slice, merged in this order whichever thread computed it: sums of the values, or of the squares of
/// their distances from a centre.
private func sliceSums(
    _ voxels: FrozenVoxels<Float>,
    _ view: VoxelView,
    _ mask: ForegroundMask?,
    around centre: Double?,
    _ scope: ComputeScope
) throws -> [nk_statistics] {
    try voxels.withParallelReader { source in
        try PointwiseMap(mask: mask).withMask { inside in
            let inside = inside.map(ParallelReader.init)
            return try scope.map(view.shape.z) { k in
                var sums = nk_statistics(sum: 0, count: 0, lowest: .infinity, highest: -.infinity)
                for j in 0..<view.shape.y {
                    let row = nk_masked_row(
                        values: source + view.offset(0, j, k),
                        step: view.step.x,
                        inside: inside.map { $0 + view.shape.offset(0, j, k) },
                        count: view.shape.x
                    )
                    nk_row_statistics(&sums, row, centre ?? 0, centre == nil ? 0 : 1)
                }
                return sums
            }
        }
    }
}
