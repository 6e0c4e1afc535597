internal import NocturneConcurrency
internal import NocturneCore

extension IsosurfaceExtractor {
    /// The points of an isosurface: on every line between a voxel at or above the value and one below it.
    struct Points: Sendable {
        let cells: CubeCells
        let voxels: ParallelReader<Float>
        let geometry: VolumeGeometry
        let value: Float

        /// The least distance of a point from both ends of its line, as a share of the line. Large enough to separate
        /// float32 coordinates of patients, and below the precision that linear interpolation has.
        static let margin = 1.0 / 1024

        /// Writes the points of a slice of nodes in the order of ``CubeCells``. Node n is voxel n − 1 along each axis.
        func write(slice: Int, to points: UnsafeMutablePointer<SIMD3<Float>>) {
            let steps = [1, geometry.shape.x, geometry.shape.sliceCount]
            var number = 0
            for row in 0..<cells.bits.nodes.y {
                for axis in 0..<3 {
                    var direction = SIMD3<Double>.zero
                    direction[axis] = 1
                    for word in 0..<cells.bits.wordsPerRow {
                        var left = cells.cuts(axis, slice, row, word)
                        while left != 0 {
                            let voxel = SIMD3(word * 64 + left.trailingZeroBitCount - 1, row - 1, slice - 1)
                            left &= left &- 1
                            let share = share(from: voxel, axis: axis, step: steps[axis])
                            let index = SIMD3<Double>(voxel) + share * direction
                            points[number] = SIMD3<Float>(geometry.affine(index))
                            number += 1
                        }
                    }
                }
            }
        }

        /// Where a line to the next voxel along an axis has the value, from 0 to 1; the middle where an end is outside the
        /// volume or not finite.
        private func share(from voxel: SIMD3<Int>, axis: Int, step: Int) -> Double {
            let shape = geometry.shape
            let isInside =
                voxel.x >= 0 && voxel.y >= 0 && voxel.z >= 0 && voxel.x < shape.x && voxel.y < shape.y
                && voxel.z < shape.z
                && voxel[axis] + 1 < shape[axis]
            guard isInside else { return 0.5 }
            let offset = shape.offset(voxel.x, voxel.y, voxel.z)
            let (from, to) = (Double(voxels.base[offset]), Double(voxels.base[offset + step]))
            let difference = to - from
            guard difference.isFinite else { return 0.5 }
            return min(max((Double(value) - from) / difference, Self.margin), 1 - Self.margin)
        }
    }
}
