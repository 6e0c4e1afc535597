import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// A label's voxels within a box that contains all of them, and which of them are on the boundary.
struct BoundaryMask: Sendable {
    let labels: LabelVolume
    let value: UInt16
    let box: VoxelBox

    /// Whether the voxel (relative to the box's corner) has the label and one of its six neighbours does not.
    func isBoundary(_ i: Int, _ j: Int, _ k: Int) -> Bool {
        labels.voxels.withUnsafeBufferPointer { voxels in
            let shape = labels.geometry.shape
            let (x, y, z) = (box.lower.x + i, box.lower.y + j, box.lower.z + k)
            let place = voxels.baseAddress! + shape.offset(x, y, z)
            guard place[0] == value else { return false }
            if x == 0 || y == 0 || z == 0 || x == shape.x - 1 || y == shape.y - 1 || z == shape.z - 1 { return true }
            return place[-1] != value || place[1] != value || place[-shape.x] != value || place[shape.x] != value
                || place[-shape.sliceCount] != value || place[shape.sliceCount] != value
        }
    }

    /// The number of boundary voxels in every plane across j.
    func boundaryCounts(_ scope: ComputeScope) throws(CancelledError) -> [Int] {
        let size = box.shape
        var counts = [Int](repeating: 0, count: size.y)
        try counts.withUnsafeMutableBufferPointer { counts throws(CancelledError) in
            guard let base = counts.baseAddress else { return }
            let target = ParallelBuffer(base)
            try scope.forEach(size.y) { j in
                var count = 0
                for k in 0..<size.z {
                    for i in 0..<size.x where isBoundary(i, j, k) { count += 1 }
                }
                target[j] = count
            }
        }
        return counts
    }
}
