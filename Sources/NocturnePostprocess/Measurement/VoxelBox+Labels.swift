package import NocturneConcurrency
package import NocturneCore
package import NocturneSystem

extension VoxelBox {
    /// The box of every label but 0 in a label map of this shape.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised; it is checked for every slice.
    /// - Complexity: one read of the voxels, in parallel by slices.
    package static func ofLabels(
        in labels: ParallelReader<UInt16>,
        _ shape: VolumeShape,
        _ scope: ComputeScope
    ) throws(CancelledError) -> [UInt16: VoxelBox] {
        let slices = try scope.map(shape.z) { slice in
            var boxes: [UInt16: VoxelBox] = [:]
            for row in 0..<shape.y {
                let line = labels + shape.offset(0, row, slice)
                var start = 0
                while start < shape.x {
                    var end = start + 1
                    while end < shape.x, line[end] == line[start] { end += 1 }
                    if line[start] != 0 {
                        let box = VoxelBox(lower: SIMD3(start, row, slice), upper: SIMD3(end, row + 1, slice + 1))
                        boxes[line[start]] = boxes[line[start]].map { $0.union(box) } ?? box
                    }
                    start = end
                }
            }
            return boxes
        }
        return slices.reduce(into: [:]) { all, slice in all.merge(slice) { $0.union($1) } }
    }
}
