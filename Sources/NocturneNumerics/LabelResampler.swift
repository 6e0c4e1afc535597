public import NocturneConcurrency
public import NocturneCore

/// Brings labels to another number of voxels by taking the nearest one.
public enum LabelResampler {
    /// Label k of the result is label floor((k + 0.5) * (n / m)) of the view along each axis, as nnU-Net's order 0.
    ///
    /// - Throws: ``NumericsError``, ``AllocationError``, ``CancelledError``.
    /// - Complexity: one read a target voxel, in parallel by target slices; 2 bytes a target voxel.
    public static func nearest(
        _ labels: FrozenVoxels<UInt16>,
        view: VoxelView,
        target: VolumeShape,
        scope: ComputeScope
    ) throws -> VoxelBuffer<UInt16> {
        guard labels.count == view.storedCount else {
            throw NumericsError.count("labels to resample", expected: view.storedCount, found: labels.count)
        }
        guard VolumeShape(validating: target.x, y: target.y, z: target.z) != nil else {
            throw NumericsError.shape("no labels can be resampled to \(target)")
        }
        let sources = (0..<3).map { axis in
            AxisTaps(inputs: view.shape[axis], outputs: target[axis], order: .nearest).indices
        }
        let columns = sources[0].map { $0 * view.step.x }
        let rows = sources[1]
        let slices = sources[2]
        var result = try VoxelBuffer<UInt16>(count: target.count)
        try labels.withUnsafeBufferPointer { source in
            try result.withUnsafeMutableBufferPointer { result in
                // Every slice writes its own part of the result.
                nonisolated(unsafe) let source = source
                nonisolated(unsafe) let result = result
                try scope.forEach(target.z) { k in
                    for j in 0..<target.y {
                        let from = view.offset(0, rows[j], slices[k])
                        let to = target.offset(0, j, k)
                        for i in 0..<target.x { result[to + i] = source[from + columns[i]] }
                    }
                }
            }
        }
        return result
    }
}
