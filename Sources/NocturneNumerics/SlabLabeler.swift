internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore

/// How logits become a label. `labels[c]` is the value written for class c.
public enum LabelDecision: Hashable, Sendable {
    /// The class with the largest logit, the lowest class on a tie.
    case largestLogit(labels: [UInt16])
    /// Overlapping regions: the last one with a logit above 0 (a sigmoid above one half), else background.
    case regions(labels: [UInt16])

    var labels: [UInt16] {
        switch self {
        case .largestLogit(let labels), .regions(let labels): labels
        }
    }

    var isRegions: Bool { if case .regions = self { true } else { false } }
}

/// Turns planes of logits at the model's resolution into label slices of the native grid, as the planes come.
///
/// Along each axis with n model and m native samples, native voxel k lies at u(k) = (k + 0.5) * (n / m) - 0.5 of the
/// model grid, between two taps clamped to the grid. Logits are interpolated in float32, along z, then y, then x, one
/// native row at a time. (nnU-Net interpolates in float64 and rounds to float16, which makes more ties.) Along a
/// separate axis the nearest model sample is taken instead. With equal shapes nothing is interpolated.
///
/// **Order and layout.** Planes come one at a time in ascending z, each `[class][y][x]`, x fastest. A native slice is
/// written as soon as both of its planes were there.
///
/// **Memory.** Two model planes of classes × y × x floats; nothing at native resolution but the labels. The result does
/// not depend on the number of threads nor on how the planes are cut into runs.
///
/// **Resuming.** To go on from canonical slice s, make a labeler with `resumingAtSlice: s` and push planes from its
/// ``nextPlane`` on.
public struct SlabLabeler: ~Copyable {
    public let model: VolumeShape
    /// The whole canonical native grid, and the part of it the model grid covers. Elsewhere labels are not touched.
    public let native: VolumeShape
    public let box: VoxelBox
    public let decision: LabelDecision
    /// The model plane that has to be pushed next. At ``model``.z no more are taken.
    public private(set) var nextPlane: Int
    /// Canonical slices below this one are final. Those before the box count with its first, those behind with its
    /// last.
    public private(set) var finishedSlices: Int

    private let x: LabelTaps
    private let y: LabelTaps
    private let z: LabelTaps
    private let isDirect: Bool
    /// The next slice to be written, counted from the lower end of the box.
    private var nextSlice: Int
    /// The last two planes: plane p in half p % 2. Empty when nothing is interpolated.
    private var planes: VoxelBuffer<Float>

    /// - Parameters:
    ///   - model: the shape of the logits; x fastest, as everywhere.
    ///   - native: the canonical grid of the labels.
    ///   - box: the part of it that was cropped and resampled to `model`; nil for all.
    ///   - separateAxis: what ``SeparateAxisRule/axis(current:new:)`` says of the way back, from the model's spacing to
    ///     the native one.
    ///   - resumingAtSlice: the first canonical slice that is not known yet.
    /// - Throws: ``NumericsError``, ``AllocationError``.
    public init(
        model: VolumeShape,
        native: VolumeShape,
        box: VoxelBox? = nil,
        decision: LabelDecision,
        separateAxis: Int? = nil,
        resumingAtSlice slice: Int = 0
    ) throws {
        let box = box ?? VoxelBox(all: native)
        guard VolumeShape(validating: model.x, y: model.y, z: model.z, limit: 1 << 31) != nil else {
            throw NumericsError.shape("logits of \(model) voxels cannot be labelled")
        }
        guard VolumeShape(validating: native.x, y: native.y, z: native.z) != nil, box.fits(in: native) else {
            throw NumericsError.shape("the box \(box.lower)..<\(box.upper) does not lie in a grid of \(native)")
        }
        guard !decision.labels.isEmpty, decision.labels.count < 1 << 16 else {
            throw NumericsError.value("\(decision.labels.count) classes cannot be told apart")
        }
        guard (0...native.z).contains(slice) else {
            throw NumericsError.value("slice \(slice) is not one of \(native.z)")
        }
        let shape = box.shape
        let planes = try VoxelBuffer<Float>(count: shape == model ? 0 : 2 * decision.labels.count * model.sliceCount)
        self.planes = planes
        self.model = model
        self.native = native
        self.box = box
        self.decision = decision
        x = LabelTaps(inputs: model.x, outputs: shape.x, isSeparate: separateAxis == 0)
        y = LabelTaps(inputs: model.y, outputs: shape.y, isSeparate: separateAxis == 1)
        z = LabelTaps(inputs: model.z, outputs: shape.z, isSeparate: separateAxis == 2)
        isDirect = shape == model
        nextSlice = min(max(slice - box.lower.z, 0), shape.z)
        nextPlane = nextSlice < shape.z ? Int(z.first[nextSlice]) : model.z
        finishedSlices = nextSlice < shape.z ? slice : native.z
    }

    /// Whether every slice of the grid is final.
    public var isFinished: Bool { finishedSlices == native.z }

    /// Bytes a labeler holds, labels not counted.
    public static func predictedBytes(model: VolumeShape, box: VolumeShape, classes: Int) -> Int {
        let taps = (box.x + box.y + box.z) * 16
        return taps + (model == box ? 0 : 2 * classes * model.sliceCount * MemoryLayout<Float>.stride)
    }

    /// Takes plane ``nextPlane`` and writes the slices that it completes.
    ///
    /// - Parameters:
    ///   - plane: `[class][y][x]`; finite, see the accumulator's count of values that are not.
    ///   - labels: the whole canonical grid, zeros outside the box.
    /// - Returns: the canonical slices that became final. Often empty.
    /// - Throws: ``NumericsError`` for a plane of another size or one too many; ``CancelledError``, after which the
    ///   labeler is of no more use.
    /// - Complexity: about 1 ns a native voxel and class, in parallel by rows.
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
        guard nextPlane < model.z else { throw NumericsError.value("all \(model.z) planes of logits were there") }
        guard let source = plane.baseAddress else { return finishedSlices..<finishedSlices }

        let depth = box.shape.z
        var end = nextSlice
        while end < depth, Int(z.second[end]) <= nextPlane { end += 1 }
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
        let (x, y, z) = (x, y, z)
        let (model, native, box, isDirect) = (model, native, box, isDirect)
        let values = decision.labels
        let regions: Int32 = decision.isRegions ? 1 : 0
        let planeCount = values.count * model.sliceCount
        let shape = box.shape
        try labels.withUnsafeMutableBufferPointer { labels in
            guard let labelsBase = labels.baseAddress else { return }
            // Every row is written by one body only.
            nonisolated(unsafe) let labels = labelsBase
            nonisolated(unsafe) let source = source
            try scope.forEachRange(of: slices.count * shape.y, by: 16) { rows in
                for row in rows {
                    let k = slices.lowerBound + row / shape.y
                    let j = row % shape.y
                    let to = labels + native.offset(box.lower.x, box.lower.y + j, box.lower.z + k)
                    if isDirect {
                        nk_label_row_direct(
                            to,
                            shape.x,
                            source + j * model.x,
                            model.sliceCount,
                            Int32(values.count),
                            values,
                            regions
                        )
                        continue
                    }
                    let below = source + Int(z.first[k] % 2) * planeCount
                    let above = source + Int(z.second[k] % 2) * planeCount
                    let front = Int(y.first[j]) * model.x
                    let back = Int(y.second[j]) * model.x
                    x.withUnsafePointers { x0, x1, wx0, wx1 in
                        var taps = nk_label_taps(
                            z0y0: below + front,
                            z0y1: below + back,
                            z1y0: above + front,
                            z1y1: above + back,
                            class_step: model.sliceCount,
                            classes: Int32(values.count),
                            wz0: z.firstWeight[k],
                            wz1: z.secondWeight[k],
                            wy0: y.firstWeight[j],
                            wy1: y.secondWeight[j],
                            x0: x0,
                            x1: x1,
                            wx0: wx0,
                            wx1: wx1
                        )
                        nk_label_row(to, shape.x, &taps, values, regions)
                    }
                }
            }
        }
    }
}

/// ``AxisTaps`` in the small types of the label kernel: always two taps, ascending.
private struct LabelTaps: Sendable {
    let first: [Int32]
    let second: [Int32]
    let firstWeight: [Float]
    let secondWeight: [Float]

    init(inputs: Int, outputs: Int, isSeparate: Bool) {
        let taps = AxisTaps(inputs: inputs, outputs: outputs, order: isSeparate ? .nearest : .linear)
        let weights = taps.weights[..<outputs].map { Float($0) }
        first = taps.indices[..<outputs].map { Int32($0) }
        // A tap of no weight must not be waited for: slices that lie on a plane need that one only.
        second = (0..<outputs).map { Int32(taps.indices[weights[$0] < 1 ? outputs + $0 : $0]) }
        firstWeight = weights
        secondWeight = weights.map { 1 - $0 }
    }

    func withUnsafePointers(
        _ body: (UnsafePointer<Int32>, UnsafePointer<Int32>, UnsafePointer<Float>, UnsafePointer<Float>) -> Void
    ) {
        first.withUnsafeBufferPointer { first in
            second.withUnsafeBufferPointer { second in
                firstWeight.withUnsafeBufferPointer { firstWeight in
                    secondWeight.withUnsafeBufferPointer { secondWeight in
                        guard let a = first.baseAddress, let b = second.baseAddress,
                            let c = firstWeight.baseAddress, let d = secondWeight.baseAddress
                        else { return }
                        body(a, b, c, d)
                    }
                }
            }
        }
    }
}
