public import NocturneConcurrency
public import NocturneCore

extension VoxelBox {
    /// The bounding box of the voxels that are not 0 (NaN is not 0), or that are above a value, in rearranged indices; nil when
    /// there are none.
    ///
    /// nnU-Net crops to this box before it normalises; it fills holes of the mask first, which cannot change the box.
    /// For several channels use the ``union(_:)`` of their boxes; an image of zeros is not cropped (``init(all:)``).
    /// - Complexity: at most one pass in parallel; in each row, only the part that could enlarge the box is read.
    ///   Memory for only a few numbers per slice.
    public static func foreground(
        _ voxels: FrozenVoxels<Float>,
        above limit: Float? = nil,
        stored: VolumeShape,
        orientation: AxisOrientation,
        scope: ComputeScope
    ) throws -> VoxelBox? {
        guard voxels.count == stored.count else {
            throw NumericsError.count("image to crop", expected: stored.count, found: voxels.count)
        }
        let slices = try voxels.withParallelReader { source in
            try scope.map(stored.z) { foregroundBox(ofSlice: $0, in: source, shape: stored, above: limit) }
        }
        var box: VoxelBox?
        for slice in slices {
            if let slice { box = box?.union(slice) ?? slice }
        }
        return box?.oriented(by: orientation, in: stored)
    }
}

private func foregroundBox(
    ofSlice k: Int,
    in source: ParallelReader<Float>,
    shape: VolumeShape,
    above limit: Float?
) -> VoxelBox? {
    func isOutside(_ place: Int) -> Bool {
        let value = source[place]
        return limit.map { !(value > $0) } ?? (value == 0)
    }
    var left = shape.x
    var right = -1
    var top = -1
    var bottom = -1
    for j in 0..<shape.y {
        let row = shape.offset(0, j, k)
        var i = 0
        // Until a voxel is found that counts, the whole row is searched; later only the part outside the columns found.
        let limit = max(left, 0)
        while i < limit, isOutside(row + i) { i += 1 }
        var end = shape.x - 1
        while end > right, isOutside(row + end) { end -= 1 }
        var occupied = i < limit || end > right
        if i < limit { left = i }
        if end > right { right = end }
        if !occupied {
            var inside = left
            while inside <= right, isOutside(row + inside) { inside += 1 }
            occupied = inside <= right
        }
        if occupied {
            if top < 0 { top = j }
            bottom = j
        }
    }
    guard top >= 0 else { return nil }
    return VoxelBox(lower: SIMD3(left, top, k), upper: SIMD3(right + 1, bottom + 1, k + 1))
}
