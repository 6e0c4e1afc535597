public import NocturneConcurrency
public import NocturneCore

/// Copies volumes between the stored and the canonical axis order.
///
/// Images need no copy before resampling: ``ImageResampler`` reads through a ``VoxelView``. Labels are converted back in their
/// memory where axes are only reversed, and copied where axes change places.
///
/// There is one function for each type of voxel: a generic one would not be specialised in other modules, and is many times
/// slower.
/// - Complexity: one read and one write per voxel, in parallel, in blocks when the fastest axes differ. Only copies are
///   allocated.
public enum Reorienter {
    /// Canonical labels in the order of the stored volume, whose shape is `stored`: in the same memory unless
    /// ``copies(_:)``.
    public static func stored(
        _ canonical: consuming VoxelBuffer<UInt16>,
        stored: VolumeShape,
        orientation: AxisOrientation,
        scope: ComputeScope
    ) throws -> VoxelBuffer<UInt16> {
        if copies(orientation) {
            let view = VoxelView(stored: orientation.shape(from: stored), orientation: orientation.inverse)
            return try copy(canonical.frozen(), through: view, scope: scope)
        }
        guard canonical.count == stored.count else {
            throw NumericsError.count("volume to rearrange", expected: stored.count, found: canonical.count)
        }
        let reversed = orientation.reversed
        guard reversed.contains(true) else { return canonical }
        try canonical.withParallelBuffer { voxels in
            // Each index exchanges its slice with the one that takes its place.
            try scope.forEach(reversed[2] ? (stored.z + 1) / 2 : stored.z) { k in
                exchange(k, reversed[2] ? stored.z - 1 - k : k, reversed, stored, voxels.base)
            }
        }
        return canonical
    }

    /// Whether labels of this orientation are copied to be stored.
    public static func copies(_ orientation: AxisOrientation) -> Bool { orientation.source != [0, 1, 2] }

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

/// Exchanges the rows of two slices, or of one, where axes are reversed.
private func exchange(
    _ k: Int,
    _ other: Int,
    _ reversed: [Bool],
    _ shape: VolumeShape,
    _ voxels: UnsafeMutablePointer<UInt16>
) {
    for j in 0..<shape.y {
        let mirror = reversed[1] ? shape.y - 1 - j : j
        if k == other, mirror < j { return }
        let (a, b) = (voxels + shape.offset(0, j, k), voxels + shape.offset(0, mirror, other))
        // A row that stays in its place is only turned round, by exchanges of its first half.
        let isTurned = a == b
        if isTurned, !reversed[0] { continue }
        for i in 0..<(isTurned ? shape.x / 2 : shape.x) {
            let place = reversed[0] ? shape.x - 1 - i : i
            (a[i], b[place]) = (b[place], a[i])
        }
    }
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
