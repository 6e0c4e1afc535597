internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore

extension SliceLabeler {
    /// How interpolated logits are rounded before they are converted to a label.
    public enum Rounding: Hashable, Sendable {
        /// To float32, in which they are interpolated.
        case single
        /// Bit-identical to nnU-Net with float16 arrays: interpolated in float64 in its order of terms and rounded once to
        /// float16; a region is chosen where the float32 sigmoid is above one half. The planes hold float16 values.
        /// (nnU-Net's clamping to the range of the class cannot change a linear result that was rounded to float16, so it
        /// is omitted. For the `torch` method nnU-Net does not round the results, which are float32 here too.)
        case half
    }
}

/// Converts planes of logits to label slices of the native grid, one slice at a time.
///
/// The logits of a single network decide themselves, as ``SliceLabeler/Rounding`` specifies. Those of several become
/// probabilities, whose mean decides, as in nnU-Net's ensembles: softmax for classes, the logistic function for regions. On a
/// tie, the lowest class.
///
/// **Order.** For each slice, push to ``planes`` what they need, then call ``labelSlice(into:tally:scope:)``, which continues
/// with the next slice.
///
/// **Memory.** ``planes``; at native resolution only the labels. The result does not depend on the number of threads.
public struct SliceLabeler: ~Copyable {
    /// The whole native grid, in canonical axis order.
    public let native: VolumeShape
    /// The part of ``native`` that all networks cover. Labels elsewhere stay unchanged.
    public let box: VoxelBox
    /// Where the planes of logits are pushed.
    public let planes: EnsemblePlanes
    private let decision: LabelDecision
    private let rounding: Rounding

    /// - Parameters:
    ///   - members: the networks, whose boxes have the shape of `box`.
    ///   - rounding: of the logits of a single network; those of several stay in float32.
    ///   - slice: the first slice of `native` that is not yet labelled.
    /// - Throws: ``NumericsError``, ``AllocationError``.
    public init(
        _ members: [EnsemblePlanes.Member],
        native: VolumeShape,
        box: VoxelBox,
        decision: LabelDecision,
        rounding: Rounding = .single,
        resumingAtSlice slice: Int = 0
    ) throws {
        guard VolumeShape(validating: native.x, y: native.y, z: native.z) != nil, box.fits(in: native) else {
            throw NumericsError.shape("the box \(box.lower)..<\(box.upper) is not inside a grid of \(native)")
        }
        guard !decision.labels.isEmpty, decision.labels.count < 1 << 16 else {
            throw NumericsError.value("\(decision.labels.count) classes are not a valid number of classes")
        }
        guard (0...native.z).contains(slice) else {
            throw NumericsError.value("slice \(slice) is not one of \(native.z)")
        }
        planes = try EnsemblePlanes(
            members: members,
            box: box.shape,
            classes: decision.labels.count,
            resumingAtSlice: slice - box.lower.z
        )
        self.native = native
        self.box = box
        self.decision = decision
        self.rounding = rounding
    }

    /// Bytes that a labeler needs for one of its members, excluding the labels.
    /// - Parameters:
    ///   - box: the part of the native grid that all members cover.
    ///   - members: how many there are.
    public static func predictedBytes(
        model: VolumeShape,
        box: VolumeShape,
        rule: ResamplingRule,
        classes: Int,
        members: Int
    ) -> Int {
        let taps = (box.x + box.y + box.z) * 32
        if members == 1, rule.changesNothing(from: model, to: box) { return taps }
        // Of several members, a slice of labels and of probabilities too.
        let slice = members > 1 ? box.sliceCount * 6 : 0
        return taps + 2 * classes * model.sliceCount * MemoryLayout<Float>.stride + slice
    }

    /// Whether every slice of the grid is final.
    public var isFinished: Bool { planes.isFinished }

    /// Slices of the native grid below this one are final. Those before the box become final with its first slice, those after
    /// it with its last.
    public var finishedSlices: Int {
        isFinished ? native.z : planes.nextSlice > 0 ? box.lower.z + planes.nextSlice : 0
    }

    /// Labels the next slice; every member has pushed the planes that it needs.
    /// - Parameters:
    ///   - labels: the whole native grid, zeros outside the box.
    ///   - tally: receives the mean probabilities of the slice's labels; unchanged for a single network, whose confidence is
    ///     that of ``LogitConfidence``.
    /// - Throws: ``NumericsError`` for labels of another size; `CancelledError`, after which the slice must be labelled again.
    /// - Complexity: about 1 ns per voxel and class of a single network, 10 ns per voxel, class and member of several, in
    ///   parallel by rows.
    public mutating func labelSlice(
        into labels: inout VoxelBuffer<UInt16>,
        tally: inout ConfidenceTally,
        scope: ComputeScope
    ) throws {
        guard labels.count == native.count else {
            throw NumericsError.count("label map", expected: native.count, found: labels.count)
        }
        if planes.members.count == 1 {
            try labelByLogits(into: &labels, scope: scope)
        } else {
            try labelByMean(into: &labels, tally: &tally, scope: scope)
        }
        planes.advance()
    }

    private borrowing func labelByLogits(into labels: inout VoxelBuffer<UInt16>, scope: ComputeScope) throws {
        let (planes, native, box, decision, rounding) = (planes, native, box, decision, rounding)
        let values = decision.labels
        // Among the float16 values, the sigmoid of 2^-24 is one half and that of the next value is larger.
        let threshold = rounding == .half && decision.limit == 0 ? 0x1.8p-24 : decision.limit
        try labels.withParallelBuffer { labels in
            try planes.forEachRange(scope) { range, rows in
                values.withUnsafeBufferPointer { values in
                    let decision = decision.kernel(values, threshold: threshold)
                    for j in range {
                        let to = labels + native.offset(box.lower.x, box.lower.y + j, box.lower.z + rows.slice)
                        rows.label(to, j, rounding, decision)
                    }
                }
            }
        }
    }

    private borrowing func labelByMean(
        into labels: inout VoxelBuffer<UInt16>,
        tally: inout ConfidenceTally,
        scope: ComputeScope
    ) throws {
        let (planes, native, box, decision) = (planes, native, box, decision)
        let (k, shape) = (planes.nextSlice, box.shape)
        let values = decision.labels
        // Of one slice only: the tally adds whole planes, so that a slice that is made again replaces the earlier one.
        var probabilities = [Float](repeating: 0, count: shape.sliceCount)
        var chosen = [UInt16](repeating: 0, count: shape.sliceCount)
        try chosen.withParallelBuffer { chosen in
            try probabilities.withParallelBuffer { probabilities in
                try planes.forEachRange(scope) { range, rows in
                    let scratch = UnsafeMutablePointer<Float>.allocate(
                        capacity: nk_label_row_mean_scratch(Int32(values.count))
                    )
                    defer { scratch.deallocate() }
                    values.withUnsafeBufferPointer { values in
                        var decision = decision.kernel(values, threshold: decision.probability)
                        for j in range {
                            rows.withTaps(j) { taps in
                                nk_label_row_mean(
                                    chosen.base + j * shape.x,
                                    probabilities.base + j * shape.x,
                                    shape.x,
                                    nk_label_members(taps: taps.baseAddress!, count: Int32(taps.count)),
                                    &decision,
                                    scratch
                                )
                            }
                        }
                    }
                }
            }
        }
        tally.add(plane: k, width: shape.x, labels: chosen, probabilities: probabilities)
        labels.withUnsafeMutableBufferPointer { labels in
            for j in 0..<shape.y {
                let to = native.offset(box.lower.x, box.lower.y + j, box.lower.z + k)
                for i in 0..<shape.x { labels[to + i] = chosen[j * shape.x + i] }
            }
        }
    }
}
