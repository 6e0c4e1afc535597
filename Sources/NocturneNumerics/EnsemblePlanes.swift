internal import CNocturneKernels
import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// The planes of logits of one or more networks around the next slice of the native grid.
///
/// All networks work on the same box of the same native grid, each on a separate grid. Along each axis with n model and m
/// native samples, native voxel k is at position u(k) = (k + 0.5) * (n / m) - 0.5 of the model grid, between two taps clamped
/// to the grid. Logits are interpolated in float32 along z, then y, then x, one native row at a time. Along a separate axis the
/// rule's `orderZ` applies, which usually selects the nearest model sample. With equal shapes nothing is interpolated.
///
/// Rules of order 3 are refused: nnU-Net clamps cubic results to the range of the whole class, which is not known
/// before the last plane was received, so they cannot be streamed. (nnU-Net's planners never request it.)
///
/// **Order.** For each slice, push the planes of every network that ``neededPlane(of:)`` names, in ascending order, use them,
/// and call ``advance()``.
///
/// **Memory.** Two planes of logits per network; none for a single network that is not interpolated.
public final class EnsemblePlanes {
    /// The logits of one network: their grid, and how they are resampled.
    public struct Member: Sendable {
        let interpolation: LogitInterpolation

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
            interpolation = try LogitInterpolation(model: model, box: box, rule: rule, separateAxis: separateAxis)
        }

        var model: VolumeShape { interpolation.model }
        var z: LogitInterpolation.LabelTaps { interpolation.z }
    }

    /// The part of the native grid that all members cover.
    public let box: VolumeShape
    /// The number of classes, the same for all members.
    public let classes: Int
    let members: [Member]
    /// The plane that each member pushes next.
    private var nextPlanes: [Int]
    /// Counted from the lower end of the box; the depth of the box when all slices are done.
    public private(set) var nextSlice: Int
    /// The last two planes of each member: plane p is in half p % 2. Empty if planes are lent.
    private var planes: VoxelBuffer<Float>
    /// Whether planes are not copied, because each slice needs only one.
    private let areLent: Bool
    /// The caller's plane, until ``advance()``.
    private var lent: UnsafePointer<Float>?
    /// Where the planes of each member begin.
    private let origins: [Int]

    /// - Parameters:
    ///   - box: the shape of the part of the native grid that all members cover.
    ///   - slice: the first slice of the box that is still to be made.
    /// - Throws: `AllocationError`.
    public init(
        members: [Member],
        box: VolumeShape,
        classes: Int,
        resumingAtSlice slice: Int = 0
    ) throws(AllocationError) {
        var origins = [0]
        for member in members { origins.append(origins[origins.count - 1] + 2 * classes * member.model.sliceCount) }
        areLent = members.count == 1 && members[0].interpolation.isDirect
        planes = try VoxelBuffer<Float>(count: areLent ? 0 : origins[members.count])
        self.box = box
        self.classes = classes
        self.members = members
        self.origins = origins
        nextSlice = min(max(slice, 0), box.z)
        nextPlanes = []
        nextPlanes = members.map { resumingPlane(of: $0) }
    }

    /// Behind the planes of the slices before: a plane between two slices is pushed, too, although neither needs it.
    private func resumingPlane(of member: Member) -> Int {
        guard nextSlice < box.z else { return member.model.z }
        let first = Int(member.z.first[nextSlice])
        return nextSlice == 0 ? first : min(first, Int(member.z.second[nextSlice - 1]) + 1)
    }

    /// Whether all slices of the box are done.
    public var isFinished: Bool { nextSlice == box.z }

    /// The plane that a member must push before the next slice can be made; nil when it has pushed enough.
    public func neededPlane(of member: Int) -> Int? {
        guard !isFinished else { return nil }
        let next = nextPlanes[member]
        return next <= Int(members[member].z.second[nextSlice]) ? next : nil
    }

    /// Whether the next slice can be made: every member has pushed the planes that it needs. Not after the last one.
    public var isComplete: Bool { !isFinished && members.indices.allSatisfy { neededPlane(of: $0) == nil } }

    /// The plane with which a member resumes.
    public func nextPlane(of member: Int) -> Int { nextPlanes[member] }

    /// Accepts the plane of a member that ``neededPlane(of:)`` names: `[class][y][x]`, all values finite.
    ///
    /// The plane of a single network that is not interpolated is not copied: it must stay valid until ``advance()``.
    /// - Throws: ``NumericsError`` for a plane of another size, or one that is not needed.
    public func push(_ plane: UnsafeBufferPointer<Float>, of member: Int) throws(NumericsError) {
        let count = classes * members[member].model.sliceCount
        guard plane.count == count, let from = plane.baseAddress else {
            throw NumericsError.count("plane of logits", expected: count, found: plane.count)
        }
        guard neededPlane(of: member) != nil else {
            throw NumericsError.value("plane \(nextPlanes[member]) of logits is not needed for the next slice")
        }
        if areLent {
            lent = from
        } else {
            let start = origins[member] + nextPlanes[member] % 2 * count
            planes.withUnsafeMutableBufferPointer { planes in
                guard let to = planes.baseAddress else { return }
                (to + start).update(from: from, count: count)
            }
        }
        nextPlanes[member] += 1
    }

    /// Continues with the next slice.
    public func advance() {
        nextSlice = min(nextSlice + 1, box.z)
        lent = nil
    }

    /// Calls `body` for ranges of rows of the next slice, in parallel, with what gives the taps of a row: one entry for each
    /// member, in their order.
    func forEachRange(
        _ scope: ComputeScope,
        _ body: @Sendable (Range<Int>, Rows) -> Void
    ) throws(CancelledError) {
        precondition(isComplete, "its planes were pushed")
        try planes.withParallelReader { (planes) throws(CancelledError) in
            let rows = Rows(
                members: members,
                origins: origins,
                slice: nextSlice,
                classes: areLent ? 0 : classes,
                planes: lent.map { ParallelReader($0) } ?? planes
            )
            try scope.forEachRange(of: box.y, by: 8) { body($0, rows) }
        }
    }

    /// The rows of logits around a row of native voxels, of every member.
    struct Rows: Sendable {
        let members: [Member]
        let origins: [Int]
        let slice: Int
        /// 0 if `planes` is one plane that was lent.
        let classes: Int
        let planes: ParallelReader<Float>

        /// The rows around row `j` in the planes of a member.
        private func around(_ j: Int, of index: Int) -> LogitInterpolation.Rows {
            let count = classes * members[index].model.sliceCount
            return members[index].interpolation.rows(j, slice, in: planes + origins[index], planeCount: count)
        }

        /// Labels row `j` by the logits of a single member.
        func label(
            _ labels: UnsafeMutablePointer<UInt16>,
            _ j: Int,
            _ rounding: SliceLabeler.Rounding,
            _ decision: nk_label_decision
        ) {
            let around = around(j, of: 0)
            members[0].interpolation.label(labels, j, slice, between: around, rounding, decision)
        }

        /// Calls `body` with the taps of row `j`, one entry for each member.
        func withTaps(
            _ j: Int,
            _ body: (UnsafeBufferPointer<nk_label_taps>) -> Void
        ) {
            collect(members.indices[...], j, [], body)
        }

        /// Pins the tables of one member after another.
        private func collect(
            _ rest: Range<Int>,
            _ j: Int,
            _ taps: [nk_label_taps],
            _ body: (UnsafeBufferPointer<nk_label_taps>) -> Void
        ) {
            guard let index = rest.first else { return taps.withUnsafeBufferPointer(body) }
            members[index].interpolation.withTaps(j, slice, between: around(j, of: index)) { own in
                collect(rest.dropFirst(), j, taps + [own], body)
            }
        }
    }
}
