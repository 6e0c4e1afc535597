internal import CNocturneKernels
public import NocturneConcurrency

/// The probabilities of the labels in planes of logits, for ``ConfidenceTally``.
public struct LogitConfidence: Sendable {
    private let decision: LabelDecision
    private let width: Int
    private let height: Int

    /// - Parameters:
    ///   - width: of the planes, in voxels.
    public init(_ decision: LabelDecision, width: Int, height: Int) {
        precondition(width > 0 && height > 0, "planes have voxels")
        self.decision = decision
        self.width = width
        self.height = height
    }

    /// Bytes that ``add(_:plane:to:scope:)`` needs.
    /// Two bytes for the label and four for the probability of each voxel.
    public static func predictedBytes(width: Int, height: Int) -> Int { width * height * 6 }

    /// Adds a plane of logits, `[class][y][x]`, to a tally.
    ///
    /// - Complexity: about 1 ns per voxel and class where there are labels, a third of it elsewhere, in parallel by rows.
    /// - Throws: ``NumericsError``, `CancelledError`.
    public func add(
        _ logits: UnsafeBufferPointer<Float>,
        plane: Int,
        to tally: inout ConfidenceTally,
        scope: ComputeScope
    ) throws {
        let count = width * height
        let values = decision.labels
        guard logits.count == count * values.count, let base = logits.baseAddress else {
            throw NumericsError.count("plane of logits", expected: count * values.count, found: logits.count)
        }
        var labels = [UInt16](repeating: 0, count: count)
        var probabilities = [Float](repeating: 0, count: count)
        let decision = decision
        let source = ParallelReader(base)
        let (width, height) = (width, height)
        try labels.withParallelBuffer { labels in
            try probabilities.withParallelBuffer { probabilities in
                // About 16 384 voxels for a thread at a time.
                try scope.forEachRange(of: height, by: max(1, (1 << 14) / width)) { rows in
                    values.withUnsafeBufferPointer { values in
                        var decision = decision.kernel(values)
                        let begin = rows.lowerBound * width
                        nk_label_probabilities(
                            labels.base + begin,
                            probabilities.base + begin,
                            rows.count * width,
                            source.base + begin,
                            count,
                            &decision
                        )
                    }
                }
            }
        }
        // Serial: it looks at neighbouring rows, and takes a fraction of the time.
        tally.add(plane: plane, width: width, labels: labels, probabilities: probabilities)
    }
}
