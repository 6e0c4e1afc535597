public import NocturneConcurrency
public import NocturneCore

/// Labels of one grid on the voxels of another that covers the same box: every voxel takes the label of the nearest voxel
/// of the source, in the phase of a ``ResamplingRule``.
public struct NearestLabels: Sendable {
    private let source: VolumeShape
    private let target: VolumeShape
    /// For each axis of the target, the offset of the source's voxel for each index.
    private let offsets: [[Int]]

    /// - Parameters:
    ///   - source: the grid of the labels.
    ///   - stored: the grid of the result.
    ///   - orientation: from the stored axes to those of `source`.
    ///   - rule: its method alone counts: positions of `zoom`, or aligned areas.
    /// - Throws: ``NumericsError`` for shapes that cannot be resampled.
    public init(
        source: VolumeShape,
        stored: VolumeShape,
        orientation: AxisOrientation,
        rule: ResamplingRule
    ) throws(NumericsError) {
        try rule.check(from: source, to: orientation.shape(from: stored), separateAxis: nil)
        self.source = source
        target = stored
        var nearest = rule
        nearest.order = .nearest
        let strides = [1, source.x, source.sliceCount]
        var offsets = [[Int]](repeating: [], count: 3)
        // For each axis of the labels: which stored axis runs along it, and in which direction.
        for axis in 0..<3 {
            let along = orientation.source[axis]
            let taps = AxisTaps(
                inputs: source[axis],
                outputs: stored[along],
                axis: axis,
                rule: nearest,
                isSeparate: false
            )
            let places = taps.indices[..<stored[along]].map { $0 * strides[axis] }
            offsets[along] = orientation.reversed[axis] ? places.reversed() : places
        }
        self.offsets = offsets
    }

    /// The labels in stored order.
    /// - Throws: ``NumericsError`` for labels of another grid; `AllocationError`; `CancelledError`.
    /// - Complexity: one read and one write per voxel of the result, in parallel by slices.
    public func stored(_ labels: FrozenVoxels<UInt16>, scope: ComputeScope) throws -> VoxelBuffer<UInt16> {
        guard labels.count == source.count else {
            throw NumericsError.count("labels to resample", expected: source.count, found: labels.count)
        }
        var result = try VoxelBuffer<UInt16>(count: target.count)
        let (target, offsets) = (target, offsets)
        try labels.withParallelReader { labels in
            try result.withParallelBuffer { result in
                try scope.forEach(target.z) { k in
                    offsets[0].withUnsafeBufferPointer { along in
                        for j in 0..<target.y {
                            // Offsets of slice and row are the same for a whole row.
                            let from = labels + offsets[2][k] + offsets[1][j]
                            let to = result + target.offset(0, j, k)
                            for i in 0..<target.x { to[i] = from[along[i]] }
                        }
                    }
                }
            }
        }
        return result
    }
}
