internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore

extension LabelDecision {
    /// Labels voxels by their logits, without resampling.
    /// - Parameters:
    ///   - logits: `[class][voxel]`.
    ///   - labels: one for each voxel.
    /// - Throws: ``NumericsError`` for buffers of different sizes, `CancelledError`.
    /// - Complexity: one read of the logits, in parallel.
    public func label(
        _ logits: borrowing VoxelBuffer<Float>,
        into labels: inout VoxelBuffer<UInt16>,
        scope: ComputeScope
    ) throws {
        let count = labels.count
        guard logits.count == count * self.labels.count else {
            throw NumericsError.count("logits", expected: count * self.labels.count, found: logits.count)
        }
        let values = self.labels
        try logits.withParallelReader { logits in
            try labels.withParallelBuffer { labels in
                try scope.forEachRange(of: count, by: 1 << 14) { range in
                    values.withUnsafeBufferPointer { values in
                        let decision = kernel(values)
                        let begin = range.lowerBound
                        nk_label_row_direct(labels.base + begin, range.count, logits.base + begin, count, decision)
                    }
                }
            }
        }
    }
}
