internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore

/// Converts planes of logits of several networks to label slices of the native grid by the mean of their probabilities, as
/// nnU-Net's ensembles do: the logits of each network are interpolated, become probabilities, and these are averaged.
///
/// The probabilities are those of softmax for classes, and of the logistic function for regions. On a tie, the lowest class.
///
/// **Memory.** ``planes``; at native resolution only the labels. The result does not depend on the number of threads.
///
/// **Order.** For each slice, push to ``planes`` what they need, then call ``labelSlice(into:tally:scope:)``, which continues
/// with the next slice.
public struct EnsembleLabeler: ~Copyable {
    /// The grid of the labels.
    public let native: VolumeShape
    /// The part of ``native`` that all members cover. Labels elsewhere stay unchanged.
    public let box: VoxelBox
    /// Where the planes of logits are pushed.
    public let planes: EnsemblePlanes
    private let decision: LabelDecision

    /// - Parameters:
    ///   - native: the grid of the labels; `box` is the part of it that all members cover.
    ///   - slice: the first slice that is not yet labelled.
    /// - Throws: ``NumericsError``, ``AllocationError``.
    public init(
        members: [EnsemblePlanes.Member],
        native: VolumeShape,
        box: VoxelBox,
        decision: LabelDecision,
        resumingAtSlice slice: Int = 0
    ) throws {
        guard box.fits(in: native), (0...native.z).contains(slice) else {
            throw NumericsError.shape("the box \(box.lower)..<\(box.upper) is not inside a grid of \(native)")
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
    }

    /// Bytes that a labeler needs for a member, excluding the labels.
    public static func predictedBytes(model: VolumeShape, box: VolumeShape, classes: Int) -> Int {
        EnsemblePlanes.predictedBytes(model: model, box: box, classes: classes) + box.sliceCount * 6
    }

    /// Whether every slice of the grid is final.
    public var isFinished: Bool { planes.isFinished }

    /// Slices of the native grid below this one are final.
    public var finishedSlices: Int {
        isFinished ? native.z : planes.nextSlice > 0 ? box.lower.z + planes.nextSlice : 0
    }

    /// Labels the next slice; every member has pushed the planes that it needs.
    /// - Parameters:
    ///   - labels: the whole native grid, zeros outside the box.
    ///   - tally: receives the mean probabilities of the slice's labels.
    /// - Complexity: about 10 ns per voxel, class and member, in parallel by rows.
    public mutating func labelSlice(
        into labels: inout VoxelBuffer<UInt16>,
        tally: inout ConfidenceTally,
        scope: ComputeScope
    ) throws {
        guard labels.count == native.count else {
            throw NumericsError.count("label map", expected: native.count, found: labels.count)
        }
        let (k, shape, decision) = (planes.nextSlice, box.shape, decision)
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
        planes.advance()
    }
}
