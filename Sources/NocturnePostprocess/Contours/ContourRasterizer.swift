internal import Glibc
public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Fills closed contours on a grid by the even-odd rule.
public enum ContourRasterizer {
    /// What was done with the contours.
    public struct Summary: Hashable, Sendable {
        /// Voxels that have the value after filling.
        public var voxelCount = 0
        /// Contours that are not parallel to the slices.
        public var tilted = 0
        /// Contours between or beyond the slices, further away than the tolerance, or far from the grid.
        public var offSlices = 0
        /// Contours omitted because a plane nearer to the slice has contours too.
        public var supersededByNearerPlane = 0
        /// Contours that were put on a slice from more than a tenth of a step away, and how far away the farthest was, in steps.
        public var moved = 0
        public var farthestMove = 0.0
        /// Slices without contours between the first and the last one with contours.
        public var emptyBetween = 0

        /// Each starts with the name of the region.
        public func notes(about name: String) -> [Note] {
            func note(_ count: Int, _ reason: String) -> Note? {
                count == 0
                    ? nil
                    : Note("contours.omitted", "\(name): \(own: counted(count, "contour")) omitted, \(own: reason)")
            }
            var notes = [
                note(tilted, "not parallel to the slices"),
                note(offSlices, "not on a slice"),
                note(supersededByNearerPlane, "more planes than slices"),
            ].compactMap { $0 }
            if moved > 0 {
                let distance = Float((farthestMove * 100).rounded() / 100)
                notes.append(
                    Note(
                        "contours.moved",
                        "\(name): \(own: counted(moved, "contour")) between slices, put on the nearest one: up to "
                            + "\(distance) of the distance between slices away"
                    )
                )
            }
            if emptyBetween > 0 {
                let slices = counted(emptyBetween, "slice")
                notes.append(
                    Note(
                        "contours.gaps",
                        "\(name): no contour on \(own: slices) between its first and its last one; they are empty in the "
                            + "label map and not in its volume, but a surface closes gaps of up to 1.5 times the usual "
                            + "distance of its contours, so that its mesh may be larger"
                    )
                )
            }
            return notes
        }
    }

    /// Assigns a value to voxels whose centre lies inside an odd number of contours of their slice, unless one of them has
    /// another value already.
    ///
    /// A contour belongs to the nearest slice. Where several planes of contours have the same nearest slice, only the
    /// nearest plane is used. A slice without contours stays empty: DICOM does not state what lies between contours. A
    /// centre on an edge belongs to the region to the right of the edge, so that adjacent regions share no voxel and leave
    /// none out.
    /// - Parameters:
    ///   - contours: closed polygons in RAS+ mm.
    ///   - voxels: of `geometry`; voxels outside the contours keep their values.
    ///   - tolerance: the maximum distance of a contour from a slice, in slice steps; 0.5 includes all contours between
    ///     the first and the last slice.
    /// - Returns: nil if a voxel inside has a value other than 0 and `value`; nothing is filled then.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised; it is checked for every contour and every
    ///   slice.
    /// - Complexity: linear in the rows that each edge crosses, plus the pixels of the slices with contours; both twice.
    public static func fill(
        _ contours: [[SIMD3<Double>]],
        value: UInt16,
        into voxels: inout VoxelBuffer<UInt16>,
        geometry: VolumeGeometry,
        tolerance: Double = 0.5,
        scope: ComputeScope
    ) throws(CancelledError) -> Summary? {
        precondition(voxels.count == geometry.shape.count, "voxels do not fill the shape")
        var summary = Summary()
        guard let inverse = geometry.affine.inverse else { return summary }
        let slices = try sorted(contours, inverse, geometry.shape, tolerance, &summary, scope)
        let order = slices.keys.sorted()
        if let first = order.first, let last = order.last { summary.emptyBetween = last - first + 1 - order.count }
        let shape = geometry.shape
        // First without writing: the value is filled everywhere or nowhere.
        for fills in [false, true] {
            let counts = try voxels.withParallelBuffer { target throws(CancelledError) in
                try scope.map(order.count) { index in
                    let k = order[index]
                    let slice = target.base + k * shape.sliceCount
                    return draw(slices[k] ?? [], value, slice, shape, fills: fills, scope.flag)
                }
            }
            guard !counts.contains(nil) else { return nil }
            summary.voxelCount = counts.reduce(0) { $0 + ($1 ?? 0) }
        }
        return summary
    }

    /// A bound that no valid contour position reaches, in voxels.
    private static let maximumPosition = 1e9

    /// The contours of each slice, in indices.
    private static func sorted(
        _ contours: [[SIMD3<Double>]],
        _ inverse: Affine,
        _ shape: VolumeShape,
        _ tolerance: Double,
        _ summary: inout Summary,
        _ scope: ComputeScope
    ) throws(CancelledError) -> [Int: [[SIMD2<Double>]]] {
        struct PositionedContour {
            var height: Double
            var points: [SIMD2<Double>]
        }
        var slices: [Int: [PositionedContour]] = [:]
        for contour in contours where contour.count >= 3 {
            try scope.check()
            let places = contour.map { inverse($0) }
            // For larger values, differences and products could overflow.
            guard places.allSatisfy({ place in (0..<3).allSatisfy { abs(place[$0]) < maximumPosition } }) else {
                summary.offSlices += 1
                continue
            }
            let heights = places.map(\.z)
            guard let lowest = heights.min(), let highest = heights.max(), highest - lowest <= 0.25 else {
                summary.tilted += 1
                continue
            }
            let height = (lowest + highest) / 2
            // Slightly more than the tolerance, because positions are stored as rounded decimal text.
            guard abs(height - height.rounded()) <= tolerance + 1e-6,
                (0..<shape.z).contains(Int(height.rounded()))
            else {
                summary.offSlices += 1
                continue
            }
            slices[Int(height.rounded()), default: []].append(
                PositionedContour(height: height, points: places.map { SIMD2($0.x, $0.y) })
            )
        }
        var chosen: [Int: [[SIMD2<Double>]]] = [:]
        for (k, placed) in slices {
            let nearest = placed.map { abs($0.height - Double(k)) }.min() ?? 0
            // If two planes are equally near, the lower one.
            let plane = placed.map(\.height).filter { abs($0 - Double(k)) <= nearest + 1e-3 }.min() ?? 0
            let kept = placed.filter { abs($0.height - plane) <= 0.02 }
            summary.supersededByNearerPlane += placed.count - kept.count
            // Positions are stored as rounded decimal text.
            if nearest > 0.1 + 1e-6 {
                summary.moved += kept.count
                summary.farthestMove = max(summary.farthestMove, nearest)
            }
            chosen[k] = kept.map(\.points)
        }
        return chosen
    }

    /// - Parameter fills: whether the voxels inside get the value.
    /// - Returns: how many there are; nil once one of them has another value.
    private static func draw(
        _ contours: [[SIMD2<Double>]],
        _ value: UInt16,
        _ slice: UnsafeMutablePointer<UInt16>,
        _ shape: VolumeShape,
        fills: Bool,
        _ flag: CancellationFlag
    ) -> Int? {
        let (width, height) = (shape.x, shape.y)
        // The positions in a row where inside and outside alternate.
        var changes = [Bool](repeating: false, count: height * (width + 1))
        for points in contours {
            if flag.isCancelled { return 0 }
            var from = points[points.count - 1]
            for to in points {
                markCrossings(from, to, width, height, &changes)
                from = to
            }
        }
        var count = 0
        for j in 0..<height {
            var isInside = false
            for i in 0..<width {
                if changes[j * (width + 1) + i] { isInside.toggle() }
                guard isInside else { continue }
                let old = slice[j * width + i]
                guard old == 0 || old == value else { return nil }
                if fills { slice[j * width + i] = value }
                count += 1
            }
        }
        return count
    }

    private static func markCrossings(
        _ one: SIMD2<Double>,
        _ other: SIMD2<Double>,
        _ width: Int,
        _ height: Int,
        _ changes: inout [Bool]
    ) {
        // Computed from the lower end, so that an edge traversed in both directions is crossed at exactly the same
        // position.
        let (low, high) = one.y <= other.y ? (one, other) : (other, one)
        guard low.y < high.y, high.y > 0, low.y <= Double(height - 1) else { return }
        let first = Int(max(ceil(low.y), 0))
        let last = Int(min(ceil(high.y) - 1, Double(height - 1)))
        guard first <= last else { return }
        let slope = (high.x - low.x) / (high.y - low.y)
        for j in first...last {
            let x = low.x + (Double(j) - low.y) * slope
            let i = Int(min(max(ceil(x), 0), Double(width)))
            changes[j * (width + 1) + i].toggle()
        }
    }
}
