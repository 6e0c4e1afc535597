import NocturneConcurrency
import NocturneCore
import NocturnePostprocess

/// A value of `--isosurface`, and the voxels of a volume whose intensity is at least that value.
struct IsosurfaceLevel: Sendable {
    /// Among the values of the batch.
    let index: Int
    /// In the unit of the volume.
    let value: Double
    /// The value as a text: the base name of its file.
    let name: String
    let color: LabelColor
    let voxelCount: Int
    /// Nil without voxels.
    let box: VoxelBox?
    let status: LabelMeasurement.Status

    /// Labels every voxel with the number of values that it has or exceeds. NaN is 0.
    /// - Parameter values: in ascending order.
    /// - Throws: `AllocationError`; `CancelledError`, which is checked for every slice.
    static func map(of volume: Volume, at values: [Double], scope: ComputeScope) throws -> LabelVolume {
        let shape = volume.geometry.shape
        let thresholds = values.map { Float($0) }
        var labels = try VoxelBuffer<UInt16>(count: shape.count)
        try volume.voxels.withParallelReader { source in
            try labels.withParallelBuffer { target in
                try scope.forEach(shape.z) { k in
                    let voxels = k * shape.sliceCount..<(k + 1) * shape.sliceCount
                    for threshold in thresholds {
                        for voxel in voxels { target[voxel] &+= source[voxel] >= threshold ? 1 : 0 }
                    }
                }
            }
        }
        return LabelVolume(geometry: volume.geometry, voxels: labels.frozen())
    }

    /// What a map of ``map(of:at:scope:)`` contains for each value: the voxels of that value's label and of all higher ones.
    static func levels(of values: [Double], in labels: LabelVolume, scope: ComputeScope) throws -> [IsosurfaceLevel] {
        let measured = try LabelMeasurement.measure(
            labels: labels,
            image: nil,
            values: values.indices.map { UInt16($0 + 1) },
            scope: scope
        )
        return values.enumerated().map { index, value in
            let own = measured[index...].filter { $0.voxelCount > 0 }
            return IsosurfaceLevel(
                index: index,
                value: value,
                name: IsosurfaceThreshold.name(of: value),
                color: ExistingLabel.palette[index % ExistingLabel.palette.count],
                voxelCount: own.reduce(0) { $0 + $1.voxelCount },
                box: VoxelBox(around: own.compactMap(\.boundingBox)),
                status: own.isEmpty ? .absent : own.contains(where: \.touchesBorder) ? .touchesBorder : .complete
            )
        }
    }
}
