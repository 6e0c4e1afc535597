import NocturneConcurrency
import NocturneCore

/// Joins the label maps of the parts of a program on one grid.
enum LabelMerge {
    /// Replaces labels of `merged` by those of a part where it has any.
    /// - Parameters:
    ///   - labels: the part's labels, of as many voxels.
    ///   - values: for the part's values, the program's; others count as background.
    /// - Complexity: one read of both maps, in parallel by slices.
    static func add(
        _ labels: FrozenVoxels<UInt16>,
        _ values: [UInt16: UInt16],
        to merged: inout VoxelBuffer<UInt16>,
        _ shape: VolumeShape,
        scope: ComputeScope
    ) throws {
        var table = [UInt16](repeating: 0, count: Int(values.keys.max() ?? 0) + 1)
        for (value, own) in values { table[Int(value)] = own }
        let lookup = table
        try labels.withParallelReader { labels in
            try merged.withParallelBuffer { merged in
                try scope.forEach(shape.z) { k in
                    // Values beyond the table are labels of the part that the program does not use.
                    for index in k * shape.sliceCount..<(k + 1) * shape.sliceCount {
                        let value = Int(labels[index])
                        guard value != 0, value < lookup.count, lookup[value] != 0 else { continue }
                        merged[index] = lookup[value]
                    }
                }
            }
        }
    }

    /// A map of the whole grid with these labels in a box of it, and background elsewhere.
    static func placed(
        _ labels: FrozenVoxels<UInt16>,
        in box: VoxelBox,
        of shape: VolumeShape,
        scope: ComputeScope
    ) throws -> FrozenVoxels<UInt16> {
        guard box != VoxelBox(all: shape) else { return labels }
        var whole = try VoxelBuffer<UInt16>(count: shape.count)
        let part = box.shape
        try labels.withParallelReader { labels in
            try whole.withParallelBuffer { whole in
                try scope.forEach(part.z) { k in
                    // Row by row: only voxels along x are next to each other in both maps.
                    for j in 0..<part.y {
                        let to = shape.offset(box.lower.x, box.lower.y + j, box.lower.z + k)
                        (whole + to).update(from: labels + part.offset(0, j, k), count: part.x)
                    }
                }
            }
        }
        return whole.frozen()
    }
}
