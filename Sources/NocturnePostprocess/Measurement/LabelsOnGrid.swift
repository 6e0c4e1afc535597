public import NocturneConcurrency
public import NocturneCore

/// The labels of a map at the voxels of another grid, to measure another image on them without interpolating it.
public struct LabelsOnGrid: Sendable {
    /// On the other grid: every voxel has the label of the voxel of the label map in which its centre lies, or 0 where its
    /// centre lies in none.
    public let labels: LabelVolume
    /// How many voxels of the other grid have their centre in the label map, labelled or not.
    public let voxelsInside: Int

    /// Centres on the border between two voxels, to a millionth of a voxel, belong to the one with the higher index. Without
    /// that, rounding would decide where grids are shifted by half a voxel.
    private static let borderWidth = 1e-6

    /// - Parameters:
    ///   - labels: the label map. If its axes are not independent, it covers nothing.
    ///   - geometry: the other grid. It may differ in spacing, orientation and extent; both are positions in the patient.
    /// - Throws: `AllocationError`; `CancelledError`.
    /// - Complexity: one read and one write per voxel of the other grid, in parallel by slices; 2 bytes per voxel of it.
    public init(_ labels: LabelVolume, on geometry: VolumeGeometry, scope: ComputeScope) throws {
        let shape = geometry.shape
        var buffer = try VoxelBuffer<UInt16>(count: shape.count)
        guard let inverse = labels.geometry.affine.inverse else {
            self.labels = LabelVolume(geometry: geometry, voxels: buffer.frozen())
            voxelsInside = 0
            return
        }
        let map = inverse.composed(with: geometry.affine)
        let (step, borderWidth) = (map.columnI, Self.borderWidth)
        let own = labels.geometry.shape
        let limits = SIMD3(Double(own.x), Double(own.y), Double(own.z))
        let counts = try labels.voxels.withParallelReader { source in
            try buffer.withParallelBuffer { target in
                try scope.map(shape.z) { k in
                    var inside = 0
                    for j in 0..<shape.y {
                        let row = target + shape.offset(0, j, k)
                        let start = map(SIMD3(0, Double(j), Double(k))) + (0.5 + borderWidth)
                        for i in 0..<shape.x {
                            let voxel = (start + step * Double(i)).rounded(.down)
                            // Not a number is nowhere.
                            guard voxel.x >= 0, voxel.y >= 0, voxel.z >= 0, voxel.x < limits.x,
                                voxel.y < limits.y, voxel.z < limits.z
                            else { continue }
                            inside += 1
                            row[i] = source[Int(voxel.x) + own.x * (Int(voxel.y) + own.y * Int(voxel.z))]
                        }
                    }
                    return inside
                }
            }
        }
        self.labels = LabelVolume(geometry: geometry, voxels: buffer.frozen())
        voxelsInside = counts.reduce(0, +)
    }
}
