internal import CNocturneKernels
import Glibc
public import NocturneConcurrency
public import NocturneCore

/// How logits are converted to a label. `labels[c]` is the value written for class c.
public enum LabelDecision: Hashable, Sendable {
    /// The class with the largest logit; on a tie, the lowest class.
    case largestLogit(labels: [UInt16])
    /// Overlapping regions: the last one with a logit above a limit, else background. 0 stands for a sigmoid of one half.
    case regions(labels: [UInt16], above: Float = 0)

    /// Overlapping regions: the last one whose sigmoid is above a threshold, which is above 0 and below 1.
    public init(regions labels: [UInt16], threshold: Double) {
        // The inverse of the logistic function: exactly 0 for one half.
        self = .regions(labels: labels, above: Float(log(threshold / (1 - threshold))))
    }

    /// The value written for each class.
    package var labels: [UInt16] {
        switch self {
        case .largestLogit(let labels), .regions(let labels, _): labels
        }
    }

    /// The logit above which a region is chosen; nil where the largest logit is.
    package var threshold: Float? { isRegions ? limit : nil }

    var isRegions: Bool { if case .regions = self { true } else { false } }

    /// The logit above which a region is chosen.
    var limit: Float { if case .regions(_, let above) = self { above } else { 0 } }

    /// The probability above which a region is chosen.
    var probability: Float { 1 / (1 + exp(-limit)) }

    /// The decision on planes of ``PlaneProbabilities``.
    public var ofProbabilities: LabelDecision {
        isRegions ? .regions(labels: labels, above: probability - 0.5) : self
    }

    /// The decision as the kernels take it.
    /// - Parameters:
    ///   - values: ``labels``.
    ///   - threshold: above which a region is chosen; nil for the limit of logits.
    func kernel(_ values: UnsafeBufferPointer<UInt16>, threshold: Float? = nil) -> nk_label_decision {
        nk_label_decision(
            values: values.baseAddress!,
            classes: Int32(values.count),
            regions: isRegions ? 1 : 0,
            threshold: threshold ?? limit
        )
    }
}

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
                // About 16 384 voxels for a thread at a time.
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
