internal import CNocturneKernels
import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// The positions where lines of sight along one canonical axis first meet a label.
///
/// Only the box of the labels is read. Rows are read in storage order, so the cost is about that of reading them.
struct FirstLabels {
    /// The canonical axis of the viewing direction.
    let axis: Int
    /// The canonical box that was searched.
    let box: VoxelBox
    /// Ordered by the lower, then the higher of the two other canonical axes, starting at the box: the canonical index
    /// along ``axis`` of the first voxel with a label; -1 if there is none.
    private let depths: [Int32]
    /// Of the box along the lower of both axes.
    private let width: Int

    /// One number for each line through the box.
    static func predictedBytes(_ shape: VolumeShape) -> Int {
        max(shape.x * shape.y, shape.x * shape.z, shape.y * shape.z) * 4 * 2
    }

    /// The index along ``axis`` of the first label; -1 without one. Both places count from the box.
    subscript(first: Int, second: Int) -> Int { Int(depths[first + width * second]) }

    /// - Parameters:
    ///   - grid: its box is that of the labels.
    ///   - fromEnd: whether the viewer is at the axis' end (right, front, head) instead of its beginning.
    /// - Throws: ``CancelledError``; the flag is checked for every row of lines.
    init(
        of labels: LabelVolume,
        _ grid: SlicedGrid,
        along axis: Int,
        fromEnd: Bool,
        scope: ComputeScope
    ) throws(CancelledError) {
        self.axis = axis
        box = grid.box
        let reversed = grid.orientation.reversed
        let stored = StoredBox(labels.geometry.shape, grid, along: grid.orientation.source[axis])
        let found = try stored.depths(of: labels, isBackward: fromEnd != reversed[axis], scope: scope)
        // Converts to canonical axes and indices.
        let others = [0, 1, 2].filter { $0 != axis }
        let counts = others.map { grid.box.upper[$0] - grid.box.lower[$0] }
        let places = others.indices.map { which in
            let stride = grid.orientation.source[others[which]] == stored.fast ? 1 : stored.size[stored.fast]
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

extension FirstLabels {
    /// The box in stored indices.
    fileprivate struct StoredBox: Sendable {
        let shape: VolumeShape
        let lower: SIMD3<Int>
        let size: SIMD3<Int>
        /// The stored axis of the viewing direction.
        let along: Int

        /// The lower of the two other stored axes, which varies fastest among the depths, and the higher one.
        var fast: Int { along == 0 ? 1 : 0 }
        var slow: Int { along == 2 ? 1 : 2 }

        init(_ shape: VolumeShape, _ grid: SlicedGrid, along: Int) {
            let canonical = grid.orientation.shape(from: shape)
            let box = grid.box.oriented(by: grid.orientation.inverse, in: canonical)
            self.shape = shape
            lower = box.lower
            size = box.upper &- box.lower
            self.along = along
        }

        /// For each line the index in the box of the first voxel with a label, or -1.
        func depths(
            of labels: LabelVolume,
            isBackward: Bool,
            scope: ComputeScope
        ) throws(CancelledError) -> [Int32] {
            var found = [Int32](repeating: -1, count: size[fast] * size[slow])
            try labels.voxels.withParallelReader { voxels throws(CancelledError) in
                try found.withParallelBuffer { found throws(CancelledError) in
                    try scope.forEach(size[slow]) { second in
                        let line = found + second * size[fast]
                        func row(_ j: Int, _ k: Int) -> UnsafePointer<UInt16> {
                            voxels + shape.offset(lower.x, lower.y + j, lower.z + k)
                        }
                        if along == 0 {
                            for j in 0..<size.y {
                                let row = row(j, second)
                                line[j] = Int32(isBackward ? nk_last_label(row, size.x) : nk_first_label(row, size.x))
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
            return found
        }
    }
}
