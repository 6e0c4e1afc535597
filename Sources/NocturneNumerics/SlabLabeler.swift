internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore

extension SlabLabeler {
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

/// Converts planes of logits at the model's resolution to label slices of the native grid, one plane at a time.
///
/// Along each axis with n model and m native samples, native voxel k is at position u(k) = (k + 0.5) * (n / m) - 0.5 of
/// the model grid, between two taps clamped to the grid. Logits are interpolated along z, then y, then x, one native
/// row at a time; ``SlabLabeler/Rounding`` specifies the arithmetic. Along a separate axis the rule's `orderZ` applies, which
/// usually selects the nearest model sample. With equal shapes nothing is interpolated.
///
/// Rules of order 3 are refused: nnU-Net clamps cubic results to the range of the whole class, which is not known
/// before the last plane was received, so they cannot be streamed. (nnU-Net's planners never request it.)
///
/// **Order and layout.** Planes are pushed one at a time in ascending z, each `[class][y][x]`, x fastest. A native
/// slice is written as soon as both of its planes were pushed.
///
/// **Memory.** Two model planes of classes × y × x floats; at native resolution only the labels. The result does not
/// depend on the number of threads or on how the planes are grouped.
///
/// **Resuming.** To continue from canonical slice s, create a labeler with `resumingAtSlice: s` and push planes from
/// its ``nextPlane`` on.
public struct SlabLabeler: ~Copyable {
    /// The grid of the logits, in canonical axis order.
    public let model: VolumeShape
    /// The whole canonical native grid, and the part of it that the model grid covers. Labels elsewhere stay unchanged.
    public let native: VolumeShape
    /// The part of ``native`` that the model grid covers.
    public let box: VoxelBox
    /// How interpolated logits become a label.
    public let decision: LabelDecision
    /// The model plane that must be pushed next. When it equals ``model``.z, no more planes are accepted.
    public private(set) var nextPlane: Int
    /// Canonical slices below this one are final. Slices before the box become final with its first slice, slices after
    /// the box with its last.
    public private(set) var finishedSlices: Int

    /// The arithmetic of interpolation.
    public let rounding: Rounding

    /// The separate axis if its samples are interpolated too; this changes the order of terms.
    private let lastAxis: Int?
    private let isTorch: Bool
    private let interpolation: LogitInterpolation
    private let isDirect: Bool
    /// The next slice to be written, counted from the lower end of the box.
    private var nextSlice: Int
    /// The last two planes: plane p is in half p % 2. Empty when nothing is interpolated.
    private var planes: VoxelBuffer<Float>

    /// Eight parameters, five of them with defaults: each is independent of the others, and stored.
    /// - Parameters:
    ///   - model: the shape of the logits; x fastest, as everywhere.
    ///   - native: the canonical grid of the labels.
    ///   - box: the part of it that was cropped and resampled to `model`; nil for all.
    ///   - rule: how logits are resampled, of order 0 or 1.
    ///   - separateAxis: the result of ``ResamplingRule/separateAxis(current:new:)`` for the inverse direction, from
    ///     the model's spacing to the native one.
    ///   - resumingAtSlice: the first canonical slice that is not yet labelled.
    /// - Throws: ``NumericsError``, also for a rule of order 3; ``AllocationError``.
    public init(
        model: VolumeShape,
        native: VolumeShape,
        box: VoxelBox? = nil,
        decision: LabelDecision,
        rule: ResamplingRule = .logits,
        separateAxis: Int? = nil,
        rounding: Rounding = .single,
        resumingAtSlice slice: Int = 0
    ) throws {
        let box = box ?? VoxelBox(all: native)
        guard VolumeShape(validating: model.x, y: model.y, z: model.z, limit: 1 << 31) != nil else {
            throw NumericsError.shape("logits of \(model) voxels cannot be labelled")
        }
        guard VolumeShape(validating: native.x, y: native.y, z: native.z) != nil, box.fits(in: native) else {
            throw NumericsError.shape("the box \(box.lower)..<\(box.upper) is not inside a grid of \(native)")
        }
        guard !decision.labels.isEmpty, decision.labels.count < 1 << 16 else {
            throw NumericsError.value("\(decision.labels.count) classes are not a valid number of classes")
        }
        guard (0...native.z).contains(slice) else {
            throw NumericsError.value("slice \(slice) is not one of \(native.z)")
        }
        let shape = box.shape
        let interpolation = try LogitInterpolation(model: model, box: shape, rule: rule, separateAxis: separateAxis)
        // Without interpolation each pushed plane is labelled from the caller's memory, so none is kept.
        let isDirect = rule.changesNothing(from: model, to: shape)
        let planes = try VoxelBuffer<Float>(count: isDirect ? 0 : 2 * decision.labels.count * model.sliceCount)
        self.planes = planes
        self.model = model
        self.native = native
        self.box = box
        self.decision = decision
        self.rounding = rounding
        self.interpolation = interpolation
        self.isDirect = isDirect
        isTorch = rule.method == .torch
        lastAxis = rule.method == .spline && rule.orderZ != .nearest ? separateAxis : nil
        // Resuming begins with the first plane that the next slice reads; earlier planes are not needed again.
        nextSlice = min(max(slice - box.lower.z, 0), shape.z)
        nextPlane = nextSlice < shape.z ? Int(interpolation.z.first[nextSlice]) : model.z
        finishedSlices = nextSlice < shape.z ? slice : native.z
    }

    /// Whether every slice of the grid is final.
    public var isFinished: Bool { finishedSlices == native.z }

    /// Bytes a labeler holds, excluding the labels.
    public static func predictedBytes(
        model: VolumeShape,
        box: VolumeShape,
        rule: ResamplingRule = .logits,
        classes: Int
    ) -> Int {
        let taps = (box.x + box.y + box.z) * 32
        let isDirect = rule.changesNothing(from: model, to: box)
        return taps + (isDirect ? 0 : 2 * classes * model.sliceCount * MemoryLayout<Float>.stride)
    }

    /// Accepts plane ``nextPlane`` and writes the slices that it completes.
    ///
    /// - Parameters:
    ///   - plane: `[class][y][x]`; all values finite; the accumulator counts those that are not.
    ///   - labels: the whole canonical grid, zeros outside the box.
    /// - Returns: the canonical slices that became final. Often empty.
    /// - Throws: ``NumericsError`` for a plane of another size or one too many; ``CancelledError``, after which the
    ///   labeler can no longer be used.
    /// - Complexity: about 1 ns per native voxel and class, in parallel by rows.
    public mutating func push(
        _ plane: UnsafeBufferPointer<Float>,
        into labels: inout VoxelBuffer<UInt16>,
        scope: ComputeScope
    ) throws -> Range<Int> {
        let classes = decision.labels.count
        guard plane.count == classes * model.sliceCount else {
            throw NumericsError.count("plane of logits", expected: classes * model.sliceCount, found: plane.count)
        }
        guard labels.count == native.count else {
            throw NumericsError.count("label map", expected: native.count, found: labels.count)
        }
        guard nextPlane < model.z else {
            throw NumericsError.value("all \(model.z) planes of logits were already pushed")
        }
        guard let source = plane.baseAddress else { return finishedSlices..<finishedSlices }

        // All slices for which this plane is the last one: several where the native grid is finer, often none where it is
        // coarser.
        let depth = box.shape.z
        var end = nextSlice
        while end < depth, Int(interpolation.z.second[end]) <= nextPlane { end += 1 }
        if isDirect {
            try label(nextSlice..<end, from: source, into: &labels, scope: scope)
        } else {
            keep(plane)
            try planes.withUnsafeBufferPointer { planes in
                guard let base = planes.baseAddress else { return }
                try label(nextSlice..<end, from: base, into: &labels, scope: scope)
            }
        }
        let before = finishedSlices
        nextPlane += 1
        nextSlice = end
        if end == depth {
            finishedSlices = native.z
        } else if end > 0 {
            finishedSlices = max(finishedSlices, box.lower.z + end)
        }
        return before..<finishedSlices
    }

    private mutating func keep(_ plane: UnsafeBufferPointer<Float>) {
        let half = nextPlane % 2
        planes.withUnsafeMutableBufferPointer { planes in
            guard let to = planes.baseAddress, let from = plane.baseAddress else { return }
            (to + half * plane.count).update(from: from, count: plane.count)
        }
    }

    /// Labels slices of the box from `source`: the one plane that is needed, or the two halves of ``planes``.
    private borrowing func label(
        _ slices: Range<Int>,
        from source: UnsafePointer<Float>,
        into labels: inout VoxelBuffer<UInt16>,
        scope: ComputeScope
    ) throws {
        guard !slices.isEmpty else { return }
        let (interpolation, lastAxis) = (interpolation, lastAxis)
        let isHalf = rounding == .half && !isTorch
        let (model, native, box, isDirect) = (model, native, box, isDirect)
        let values = decision.labels
        let planeCount = values.count * model.sliceCount
        let shape = box.shape
        // Among the float16 values, the sigmoid of 2^-24 is one half and that of the next value is larger.
        let threshold = rounding == .half && decision.limit == 0 ? 0x1.8p-24 : decision.limit
        try labels.withUnsafeMutableBufferPointer { labels in
            try values.withUnsafeBufferPointer { values in
                guard let labelsBase = labels.baseAddress else { return }
                let (labels, source) = (ParallelBuffer(labelsBase), ParallelReader(source))
                let sharedDecision = ParallelValue(decision.kernel(values, threshold: threshold))
                try scope.forEachRange(of: slices.count * shape.y, by: 16) { range in
                    let decision = sharedDecision.value
                    for index in range {
                        let k = slices.lowerBound + index / shape.y
                        let j = index % shape.y
                        let to = labels + native.offset(box.lower.x, box.lower.y + j, box.lower.z + k)
                        if isDirect {
                            nk_label_row_direct(to, shape.x, source + j * model.x, model.sliceCount, decision)
                            continue
                        }
                        let around = interpolation.rows(j, k, in: source.base, planeCount: planeCount)
                        if isHalf {
                            interpolation.labelHalf(to, j, k, between: around, lastAxis: lastAxis, decision)
                        } else {
                            interpolation.label(to, j, k, between: around, decision)
                        }
                    }
                }
            }
        }
    }
}
