internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore

/// Converts planes of logits to probabilities before they are interpolated, as MONAI does where its post-processing resamples
/// probabilities: softmax over the classes, or the logistic function of each region.
///
/// A ``SliceLabeler`` accepts the result in place of logits, with ``LabelDecision/ofProbabilities``: the class of the largest
/// probability wins, and from those of regions one half is subtracted, so that a limit of 0 stands for one half.
///
/// **Memory.** One plane.
public final class PlaneProbabilities {
    private let classes: Int
    private let isRegions: Bool
    private var values: VoxelBuffer<Float>

    /// - Parameter model: the shape of the logits.
    /// - Throws: `AllocationError`.
    public init(model: VolumeShape, decision: LabelDecision) throws {
        values = try VoxelBuffer(count: decision.labels.count * model.sliceCount)
        classes = decision.labels.count
        isRegions = decision.isRegions
    }

    /// The memory in bytes: one plane of float32 for each class.
    public static func predictedBytes(model: VolumeShape, classes: Int) -> Int {
        classes * model.sliceCount * MemoryLayout<Float>.stride
    }

    /// Calls `body` with the probabilities of a plane of logits, `[class][y][x]`.
    /// - Throws: ``NumericsError`` for a plane of another size; `CancelledError`; what `body` throws.
    public func withProbabilities(
        of plane: UnsafeBufferPointer<Float>,
        scope: ComputeScope,
        _ body: (UnsafeBufferPointer<Float>) throws -> Void
    ) throws {
        guard plane.count == values.count else {
            throw NumericsError.count("plane of logits", expected: values.count, found: plane.count)
        }
        guard let base = plane.baseAddress else { return }
        let source = ParallelReader(base)
        let (classes, isRegions) = (classes, isRegions)
        let area = plane.count / classes
        try values.withParallelBuffer { values in
            try scope.forEachRange(of: area, by: 1 << 12) { range in
                // The classes are the axis of the softmax; voxels are independent, so any division is right.
                guard isRegions else {
                    var rows = nk_axis_rows(
                        in: source.base,
                        n: classes,
                        inner: area,
                        begin: range.lowerBound,
                        end: range.upperBound
                    )
                    nk_softmax(&rows, 0, values.base)
                    return
                }
                for region in 0..<classes {
                    let offset = region * area + range.lowerBound
                    let to = values.base + offset
                    nk_unary(Int32(NK_UNARY_SIGMOID), source.base + offset, to, range.count, 0, 0)
                    // 1 · p − 0.5: labels are decided by the sign, as for logits.
                    nk_unary(Int32(NK_UNARY_LINEAR), to, to, range.count, 1, -0.5)
                }
            }
        }
        try values.withUnsafeBufferPointer(body)
    }
}
