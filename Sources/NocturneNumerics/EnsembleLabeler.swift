internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// Converts planes of logits of several networks to label slices of the native grid by the mean of their probabilities, as
/// nnU-Net's ensembles do: the logits of each network are interpolated, become probabilities, and these are averaged.
///
/// Logits are interpolated in float32, as by ``SlabLabeler`` with single rounding; the probabilities are those of softmax
/// for classes, and of the logistic function for regions. On a tie, the lowest class.
///
/// **Memory.** Two planes of logits per network; at native resolution only the labels. All networks work on the same box of
/// the same native grid. The result does not depend on the number of threads.
///
/// **Order.** For each slice, push the planes of every network that ``neededPlane(of:)`` names, then call
/// ``labelSlice(into:tally:scope:)``.
public struct EnsembleLabeler: ~Copyable {
    /// The logits of one network: their grid, and how they are resampled.
    public struct Member: Sendable {
        let model: VolumeShape
        let x: LabelTaps
        let y: LabelTaps
        let z: LabelTaps

        /// - Parameters:
        ///   - model: the shape of the logits.
        ///   - box: the part of the native grid that they cover.
        ///   - rule: of order 0 or 1.
        ///   - separateAxis: the result of ``ResamplingRule/separateAxis(current:new:)`` from the model's spacing to the native.
        /// - Throws: ``NumericsError``, also for a rule of order 3.
        public init(
            model: VolumeShape,
            box: VolumeShape,
            rule: ResamplingRule,
            separateAxis: Int?
        ) throws(NumericsError) {
            try rule.checkIsNotCubic("logits", from: model, to: box, separateAxis: separateAxis)
            self.model = model
            let rule = rule.changesNothing(from: model, to: box) ? ResamplingRule(order: .nearest) : rule
            func taps(_ axis: Int) -> LabelTaps {
                LabelTaps(
                    inputs: model[axis],
                    outputs: box[axis],
                    axis: axis,
                    rule: rule,
                    isSeparate: separateAxis == axis
                )
            }
            (x, y, z) = (taps(0), taps(1), taps(2))
        }
    }

    public let native: VolumeShape
    public let box: VoxelBox
    private let members: [Member]
    private let decision: LabelDecision
    /// The plane that each member pushes next.
    private var nextPlanes: [Int]
    /// Counted from the lower end of the box.
    private var nextSlice: Int
    /// The last two planes of each member: plane p is in half p % 2.
    private var planes: VoxelBuffer<Float>
    /// Where the planes of each member begin.
    private let origins: [Int]

    /// - Parameters:
    ///   - native: the grid of the labels; `box` is the part of it that all members cover.
    ///   - slice: the first slice that is not yet labelled.
    /// - Throws: ``NumericsError``, ``AllocationError``.
    public init(
        members: [Member],
        native: VolumeShape,
        box: VoxelBox,
        decision: LabelDecision,
        resumingAtSlice slice: Int = 0
    ) throws {
        guard box.fits(in: native), (0...native.z).contains(slice) else {
            throw NumericsError.shape("the box \(box.lower)..<\(box.upper) is not inside a grid of \(native)")
        }
        let depth = box.shape.z
        let first = slice >= box.upper.z ? depth : max(slice - box.lower.z, 0)
        var origins = [0]
        for member in members { origins.append(origins[origins.count - 1] + 2 * Self.plane(member, decision)) }
        let planes = try VoxelBuffer<Float>(count: origins[members.count])
        self.planes = planes
        self.native = native
        self.box = box
        self.members = members
        self.decision = decision
        self.origins = origins
        nextSlice = first
        nextPlanes = members.map { first < depth ? Int($0.z.first[first]) : $0.model.z }
    }

    private static func plane(_ member: Member, _ decision: LabelDecision) -> Int {
        decision.labels.count * member.model.sliceCount
    }

    /// Bytes that a labeler needs for a member, excluding the labels.
    public static func predictedBytes(model: VolumeShape, box: VolumeShape, classes: Int) -> Int {
        (box.x + box.y + box.z) * 32 + 2 * classes * model.sliceCount * MemoryLayout<Float>.stride + box.sliceCount * 6
    }

    /// Whether every slice of the grid is final.
    public var isFinished: Bool { nextSlice == box.shape.z }

    /// Slices of the native grid below this one are final.
    public var finishedSlices: Int {
        isFinished ? native.z : nextSlice > 0 ? box.lower.z + nextSlice : 0
    }

    /// The plane that a member must push before the next slice can be labelled; nil when it has pushed enough.
    public func neededPlane(of member: Int) -> Int? {
        guard !isFinished else { return nil }
        let next = nextPlanes[member]
        return next <= Int(members[member].z.second[nextSlice]) ? next : nil
    }

    /// The plane with which a member resumes.
    public func nextPlane(of member: Int) -> Int { nextPlanes[member] }

    /// Accepts the plane of a member that ``neededPlane(of:)`` names: `[class][y][x]`, all values finite.
    public mutating func push(_ plane: UnsafeBufferPointer<Float>, of member: Int) throws(NumericsError) {
        let count = Self.plane(members[member], decision)
        guard plane.count == count else {
            throw NumericsError.count("plane of logits", expected: count, found: plane.count)
        }
        let start = origins[member] + nextPlanes[member] % 2 * count
        planes.withUnsafeMutableBufferPointer { planes in
            guard let to = planes.baseAddress, let from = plane.baseAddress else { return }
            (to + start).update(from: from, count: count)
        }
        nextPlanes[member] += 1
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
        let (k, shape, values) = (nextSlice, box.shape, decision.labels)
        let isRegions = decision.isRegions
        let rows = EnsembleRows(members: members, origins: origins, slice: k, classes: values.count)
        var probabilities = [Float](repeating: 0, count: shape.sliceCount)
        var chosen = [UInt16](repeating: 0, count: shape.sliceCount)
        try chosen.withParallelBuffer { chosen in
            try probabilities.withParallelBuffer { probabilities in
                try planes.withParallelReader { planes in
                    try scope.forEachRange(of: shape.y, by: 8) { range in
                        let scratch = UnsafeMutablePointer<Float>.allocate(
                            capacity: nk_label_row_mean_scratch(Int32(values.count))
                        )
                        defer { scratch.deallocate() }
                        values.withUnsafeBufferPointer { values in
                            guard let base = values.baseAddress else { return }
                            var decision = nk_label_decision(
                                values: base,
                                classes: Int32(values.count),
                                regions: isRegions ? 1 : 0,
                                threshold: 0
                            )
                            for j in range {
                                rows.withTaps(j, planes: planes.base) { taps in
                                    nk_label_row_mean(
                                        chosen.base + j * shape.x,
                                        probabilities.base + j * shape.x,
                                        shape.x,
                                        taps.baseAddress!,
                                        Int32(taps.count),
                                        &decision,
                                        scratch
                                    )
                                }
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
        nextSlice += 1
    }
}

/// The rows of logits around a row of native voxels, of every member.
private struct EnsembleRows: Sendable {
    let members: [EnsembleLabeler.Member]
    let origins: [Int]
    let slice: Int
    let classes: Int

    /// Calls `body` with the taps of row `j`, one entry for each member.
    func withTaps(
        _ j: Int,
        planes: UnsafePointer<Float>,
        _ body: (UnsafeBufferPointer<nk_label_taps>) -> Void
    ) {
        collect(members.indices[...], j, planes, [], body)
    }

    /// Pins the tables of one member after another.
    private func collect(
        _ rest: Range<Int>,
        _ j: Int,
        _ planes: UnsafePointer<Float>,
        _ taps: [nk_label_taps],
        _ body: (UnsafeBufferPointer<nk_label_taps>) -> Void
    ) {
        guard let index = rest.first else { return taps.withUnsafeBufferPointer(body) }
        let member = members[index]
        let count = classes * member.model.sliceCount
        let below = planes + origins[index] + Int(member.z.first[slice]) % 2 * count
        let above = planes + origins[index] + Int(member.z.second[slice]) % 2 * count
        let front = Int(member.y.first[j]) * member.model.x
        let back = Int(member.y.second[j]) * member.model.x
        member.x.withIndices { x0, x1 in
            member.x.withSingleWeights { wx0, wx1 in
                let own = nk_label_taps(
                    z0y0: below + front,
                    z0y1: below + back,
                    z1y0: above + front,
                    z1y1: above + back,
                    class_step: member.model.sliceCount,
                    wz0: member.z.firstSingle[slice],
                    wz1: member.z.secondSingle[slice],
                    wy0: member.y.firstSingle[j],
                    wy1: member.y.secondSingle[j],
                    x0: x0,
                    x1: x1,
                    wx0: wx0,
                    wx1: wx1
                )
                collect(rest.dropFirst(), j, planes, taps + [own], body)
            }
        }
    }
}
