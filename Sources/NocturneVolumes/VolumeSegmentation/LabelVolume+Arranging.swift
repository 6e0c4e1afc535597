import NocturneConcurrency
import NocturneCore
import NocturneNumerics

extension LabelVolume {
    /// The labels in the order of another grid's voxels, where both have the same voxels in the patient. Otherwise as they are.
    /// - Parameter values: the value that each value becomes, 0 for those that are missing; nil to keep all.
    func arranged(
        on geometry: VolumeGeometry,
        _ values: [UInt16: UInt16]?,
        _ scope: ComputeScope
    ) throws -> LabelVolume {
        guard let mapping = GridMapping(of: self.geometry, in: geometry) else { return self }
        // The item's own grid: files of label maps have positions in single precision.
        if mapping.changesNothing, values == nil { return LabelVolume(geometry: geometry, voxels: voxels) }
        let table = (0...Int(UInt16.max)).map { value in
            values.map { $0[UInt16(value)] ?? 0 } ?? UInt16(value)
        }
        let shape = geometry.shape
        var arranged = try VoxelBuffer<UInt16>(count: shape.count)
        try voxels.withParallelReader { voxels in
            try arranged.withParallelBuffer { target in
                try scope.forEach(shape.z) { k in
                    for j in 0..<shape.y {
                        let (start, step) = mapping.row(j, k)
                        let row = target + shape.offset(0, j, k)
                        for i in 0..<shape.x { row[i] = table[Int(voxels[start + i * step])] }
                    }
                }
            }
        }
        return LabelVolume(geometry: geometry, voxels: arranged.frozen())
    }

    /// How the grid of a label map differs from an item's, for a person.
    static func difference(_ other: VolumeGeometry, _ own: VolumeGeometry) -> String {
        let (counts, others) = ([own.shape.x, own.shape.y, own.shape.z], other.shape)
        guard counts.sorted() == [others.x, others.y, others.z].sorted() else {
            return "it has \(text(others)) voxels, the volume has \(text(own.shape))"
        }
        return "its voxels are not at the volume's positions, in any order of the axes: the first one is at "
            + "\(text(other.affine(.zero))) mm (RAS), the volume's first one at \(text(own.affine(.zero))) mm"
    }

    private static func text(_ place: SIMD3<Double>) -> String {
        (0..<3).map { "\((place[$0] * 100).rounded() / 100)" }.joined(separator: ", ")
    }

    private static func text(_ shape: VolumeShape) -> String { "\(shape.x) x \(shape.y) x \(shape.z)" }
}
