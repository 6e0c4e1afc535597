internal import CNocturneKernels
import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// Where lines of sight along one canonical axis first meet a label.
///
/// Only the box of the labels is read. Rows are read as they are stored, so it costs about as much as reading them.
struct FirstLabels {
    /// The canonical axis that is looked along.
    let axis: Int
    /// The canonical box that was looked through.
    let box: VoxelBox
    /// By the lower, then the higher of the two other canonical axes, beginning at the box: the canonical index along
    /// ``axis`` of the first voxel with a label; -1 where there is none.
    private let depths: [Int32]
    private let width: Int

    /// One number for each line through the box.
    static func predictedBytes(_ shape: VolumeShape) -> Int {
        max(shape.x * shape.y, shape.x * shape.z, shape.y * shape.z) * 4 * 2
    }

    subscript(first: Int, second: Int) -> Int { Int(depths[first + width * second]) }

    /// - Parameters:
    ///   - grid: its box is that of the labels.
    ///   - fromEnd: whether the eye is at the axis' end (right, front, head) instead of its beginning.
    /// - Throws: ``CancelledError``; the flag is looked at every row of lines.
    init(
        of labels: LabelVolume,
        _ grid: SlicedGrid,
        along axis: Int,
        fromEnd: Bool,
        scope: ComputeScope
    ) throws(CancelledError) {
        self.axis = axis
        box = grid.box
        let stored = labels.geometry.shape
        let (source, reversed) = (grid.orientation.source, grid.orientation.reversed)
        // The same box in stored indices.
        var lower = SIMD3<Int>()
        var upper = SIMD3<Int>()
        for canonical in 0..<3 {
            let size = stored[source[canonical]]
            let (low, high) = (grid.box.lower[canonical], grid.box.upper[canonical])
            lower[source[canonical]] = reversed[canonical] ? size - high : low
            upper[source[canonical]] = reversed[canonical] ? size - low : high
        }
        let size = upper &- lower
        let along = source[axis]
        let isBackward = fromEnd != reversed[axis]
        // Stored depths: the lower of the two other stored axes runs fastest.
        let (fast, slow) = along == 0 ? (1, 2) : along == 1 ? (0, 2) : (0, 1)
        var found = [Int32](repeating: -1, count: size[fast] * size[slow])
        try labels.voxels.withUnsafeBufferPointer { voxels throws(CancelledError) in
            try found.withUnsafeMutableBufferPointer { found throws(CancelledError) in
                nonisolated(unsafe) let (voxels, found) = (voxels, found)
                let (lower, size) = (lower, size)
                try scope.forEach(size[slow]) { second in
                    let line = found.baseAddress! + second * size[fast]
                    func row(_ j: Int, _ k: Int) -> UnsafePointer<UInt16> {
                        voxels.baseAddress! + stored.offset(lower.x, lower.y + j, lower.z + k)
                    }
                    if along == 0 {
                        for j in 0..<size.y {
                            line[j] = Int32(
                                isBackward
                                    ? nk_last_label(row(j, second), size.x) : nk_first_label(row(j, second), size.x)
                            )
                        }
                    } else {
                        for step in 0..<size[along] {
                            let depth = isBackward ? size[along] - 1 - step : step
                            let row = along == 1 ? row(depth, second) : row(second, depth)
                            nk_first_labels(row, size.x, Int32(depth), line)
                        }
                    }
                }
            }
        }
        // To canonical axes and indices.
        let others = [0, 1, 2].filter { $0 != axis }
        let counts = others.map { grid.box.upper[$0] - grid.box.lower[$0] }
        let places = others.indices.map { which in
            let stride = source[others[which]] == fast ? 1 : size[fast]
            return (0..<counts[which]).map { (reversed[others[which]] ? counts[which] - 1 - $0 : $0) * stride }
        }
        width = counts[0]
        let (first, last) = (grid.box.lower[axis], grid.box.upper[axis] - 1)
        depths = places[1].flatMap { second in
            places[0].map { place in
                let depth = found[place + second]
                return depth < 0 ? -1 : Int32(reversed[axis] ? last - Int(depth) : first + Int(depth))
            }
        }
    }
}
