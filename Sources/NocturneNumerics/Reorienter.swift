public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// Copies volumes between the stored and the canonical axis order.
///
/// Images need no copy before resampling: ``ImageResampler`` reads through a ``VoxelView``. Labels are copied when they
/// are converted back.
///
/// There is one function for each type of voxel: a generic one would not be specialised in other modules, and is many times
/// slower.
/// - Complexity: one read and one write per voxel, in parallel, in blocks when the fastest axes differ. Only the output
///   is allocated.
public enum Reorienter {
    /// Canonical labels in the order of the stored volume, whose shape is `stored`.
    public static func stored(
        _ canonical: FrozenVoxels<UInt16>,
        stored: VolumeShape,
        orientation: AxisOrientation,
        scope: ComputeScope
    ) throws -> VoxelBuffer<UInt16> {
        let view = VoxelView(stored: orientation.shape(from: stored), orientation: orientation.inverse)
        return try copy(canonical, through: view, scope: scope)
    }

    /// Copies the voxels of a view in its order.
    public static func copy(
        _ voxels: FrozenVoxels<Float>,
        through view: VoxelView,
        scope: ComputeScope
    ) throws -> VoxelBuffer<Float> { try gather(voxels, view, scope) }

    /// Copies the voxels of a view in its order.
    public static func copy(
        _ voxels: FrozenVoxels<UInt16>,
        through view: VoxelView,
        scope: ComputeScope
    ) throws -> VoxelBuffer<UInt16> { try gather(voxels, view, scope) }
}

/// Edge of the blocks in which axes are transposed: 32 rows of 32 floats fit in the first-level cache.
private let blockEdge = 32

private func gather<Element: BitwiseCopyable & Sendable>(
    _ voxels: FrozenVoxels<Element>,
    _ view: VoxelView,
    _ scope: ComputeScope
) throws -> VoxelBuffer<Element> {
    guard voxels.count == view.storedCount else {
        throw NumericsError.count("volume to rearrange", expected: view.storedCount, found: voxels.count)
    }
    var result = try VoxelBuffer<Element>(count: view.shape.count)
    let depth = abs(view.step.z) == 1 ? blockEdge : 1
    try voxels.withParallelReader { source in
        try result.withParallelBuffer { target in
            try scope.forEachRange(of: view.shape.z, by: depth) { slices in
                gatherSlices(slices, view, source.base, target.base)
            }
        }
    }
    return result
}

@inline(__always)
private func gatherSlices<Element: BitwiseCopyable>(
    _ slices: Range<Int>,
    _ view: VoxelView,
    _ source: UnsafePointer<Element>,
    _ target: UnsafeMutablePointer<Element>
) {
    let shape = view.shape
    if view.step.x == 1 {
        for k in slices {
            for j in 0..<shape.y {
                (target + shape.offset(0, j, k)).update(from: source + view.offset(0, j, k), count: shape.x)
            }
        }
        return
    }
    // The axis that is contiguous in the source shares its cache lines with few rows of the target at a time.
    let rows = abs(view.step.y) == 1 ? blockEdge : 1
    let columns = abs(view.step.x) == 1 ? shape.x : blockEdge
    for rowStart in stride(from: 0, to: shape.y, by: rows) {
        for columnStart in stride(from: 0, to: shape.x, by: columns) {
            let columnEnd = min(columnStart + columns, shape.x)
            for k in slices {
                for j in rowStart..<min(rowStart + rows, shape.y) {
                    var from = source + view.offset(columnStart, j, k)
                    let to = target + shape.offset(0, j, k)
                    for i in columnStart..<columnEnd {
                        to[i] = from.pointee
                        from += view.step.x
                    }
                }
            }
        }
    }
}
