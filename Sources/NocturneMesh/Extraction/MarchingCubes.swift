internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// The boundary between the voxels of a label and all others, before any smoothing.
struct RawSurface: Sendable {
    /// In mm from the centre of the voxel at `origin`: midpoints of the lines between an inside and an outside voxel.
    var points: [SIMD3<Double>] = []
    /// Counter-clockwise seen from outside.
    var triangles: [SIMD3<UInt32>] = []
    /// Twice the volume, in voxels, assigned to each point: see ``ComponentVolumes``.
    var doubledVolumes: [Int32] = []
    /// The voxel that is the origin of the points.
    var origin = SIMD3<Int>(0, 0, 0)
}

/// Extracts the surface of one label with the ``CubeTable``.
///
/// A cell of eight nodes contains a part of the surface when its bits are neither all set nor all clear, which is
/// tested for 64 cells of a row at a time. The lines between an inside and an outside node, with one point each, are
/// numbered row by row: first along i, then j, then k. One pass counts the points and triangles of every slice, and a
/// second one, in which slices are independent, writes them to their positions. In the second pass the number of a
/// point comes from counters that advance with the cells of a row, because every cell beside a cut line is processed:
/// no cell depends on another one. Source of the idea to count first: Schroeder, Maynard and Geveci, "Flying edges: a
/// high-performance scalable isocontouring algorithm", LDAV 2015.
///
/// Memory besides the surface: one bit per voxel of the box, 12 bytes per row.
struct MarchingCubes: Sendable {
    private let bits: LabelBits
    private let affine: Affine
    /// Whether the orientation of triangles is reversed, for left-handed grids.
    private let isMirrored: Bool

    private struct SliceCounts {
        var points = 0
        var triangles = 0
    }

    /// - Throws: ``CancelledError`` when the flag is raised; it is checked for every slice.
    static func surface(bits: LabelBits, affine: Affine, scope: ComputeScope) throws(CancelledError) -> RawSurface {
        try MarchingCubes(bits: bits, affine: affine, isMirrored: affine.determinant < 0).surface(scope)
    }

    private func surface(_ scope: ComputeScope) throws(CancelledError) -> RawSurface {
        // All nodes of the last slice are outside: nothing starts in it.
        let slices = bits.nodes.z - 1
        var firstOfRow = [FirstPoints](repeating: .zero, count: bits.nodes.y * bits.nodes.z)
        var counts = [SliceCounts](repeating: SliceCounts(), count: slices)
        try firstOfRow.withParallelBuffer { rows throws(CancelledError) in
            try counts.withParallelBuffer { counts throws(CancelledError) in
                try scope.forEach(slices) { counts[$0] = count(slice: $0, firstOfRow: rows.base) }
            }
        }
        var total = SliceCounts()
        for slice in 0..<slices {
            let first = total
            total.points += counts[slice].points
            total.triangles += counts[slice].triangles
            counts[slice] = first
            precondition(total.points < Int(UInt32.max), "a surface has fewer than 2³² points")
            let offset = FirstPoints(repeating: UInt32(first.points))
            for row in slice * bits.nodes.y..<(slice + 1) * bits.nodes.y { firstOfRow[row] &+= offset }
        }

        var surface = RawSurface()
        surface.origin = bits.box.lower &- SIMD3(1, 1, 1)
        surface.points = uninitialized(total.points)
        surface.doubledVolumes = uninitialized(total.points)
        surface.triangles = uninitialized(total.triangles)
        guard total.points > 0 else { return surface }
        try surface.points.withParallelBuffer { points throws(CancelledError) in
            try surface.doubledVolumes.withParallelBuffer { volumes throws(CancelledError) in
                try surface.triangles.withParallelBuffer { triangles throws(CancelledError) in
                    try scope.forEach(slices) { [firstOfRow, counts] slice in
                        let first = counts[slice]
                        writePoints(of: slice, to: points.base + first.points, volumes.base + first.points)
                        writeTriangles(of: slice, firstOfRow, to: triangles.base + first.triangles)
                    }
                }
            }
        }
        return surface
    }

    /// The points that start in a slice of nodes and the triangles of the cells above it. The first points of the rows
    /// are left relative to the start of the slice.
    private func count(slice: Int, firstOfRow: UnsafeMutablePointer<FirstPoints>) -> SliceCounts {
        var counts = SliceCounts()
        let table = CubeTable.shared
        table.starts.withUnsafeBufferPointer { starts in
            for row in 0..<bits.nodes.y {
                var first = FirstPoints.zero
                for axis in 0..<3 {
                    first[axis] = UInt32(counts.points)
                    for word in 0..<bits.wordsPerRow {
                        counts.points += cuts(axis, slice, row, word).nonzeroBitCount
                    }
                }
                firstOfRow[slice * bits.nodes.y + row] = first
                forEachCell(slice, row) { _, inside in counts.triangles += Int(starts[inside + 1] - starts[inside]) }
            }
        }
        counts.triangles /= 3
        return counts
    }

    /// Writes the points of a slice of nodes: for each row those along i, then along j, then along k.
    private func writePoints(
        of slice: Int,
        to points: UnsafeMutablePointer<SIMD3<Double>>,
        _ doubledVolumes: UnsafeMutablePointer<Int32>
    ) {
        var number = 0
        let (i, j, k) = (affine.columnI, affine.columnJ, affine.columnK)
        for row in 0..<bits.nodes.y {
            let node = Double(row) * j + Double(slice) * k
            for axis in 0..<3 {
                let start = node + 0.5 * (axis == 0 ? i : axis == 1 ? j : k)
                for word in 0..<bits.wordsPerRow {
                    var left = cuts(axis, slice, row, word)
                    guard left != 0 else { continue }
                    let inside = self[slice, row, word]
                    while left != 0 {
                        let place = left.trailingZeroBitCount
                        left &= left &- 1
                        let column = word * 64 + place
                        points[number] = start + Double(column) * i
                        let doubled = Int32(truncatingIfNeeded: 2 * column + 1)
                        doubledVolumes[number] = axis == 0 ? (inside >> UInt64(place) & 1 == 1 ? doubled : -doubled) : 0
                        number += 1
                    }
                }
            }
        }
    }

    private func writeTriangles(
        of slice: Int,
        _ firstOfRow: [FirstPoints],
        to target: UnsafeMutablePointer<SIMD3<UInt32>>
    ) {
        let table = CubeTable.shared
        let (second, third) = isMirrored ? (2, 1) : (1, 2)
        var next = target
        // The point numbers on the cell's 12 edges, in the table's order.
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 12) { numbers in
            let numbers = numbers.baseAddress!
            for row in 0..<bits.nodes.y - 1 {
                let at = slice * bits.nodes.y + row
                let rows = (
                    firstOfRow[at], firstOfRow[at + 1], firstOfRow[at + bits.nodes.y], firstOfRow[at + bits.nodes.y + 1]
                )
                // The next point along i for the cell's four rows, along j for two and along k for two.
                var alongI = SIMD4(rows.0.x, rows.1.x, rows.2.x, rows.3.x)
                var alongJK = SIMD4(rows.0.y, rows.2.y, rows.0.z, rows.1.z)
                forEachCell(slice, row) { _, inside in
                    let passed = table.passed[inside]
                    let after = alongJK &+ passed.alongJK
                    for edge in 0..<4 { numbers[edge] = alongI[edge] }
                    for edge in 0..<4 {
                        numbers[4 + 2 * edge] = alongJK[edge]
                        numbers[5 + 2 * edge] = after[edge]
                    }
                    alongI &+= passed.alongI
                    alongJK = after
                    var corner = Int(table.starts[inside])
                    let end = Int(table.starts[inside + 1])
                    while corner < end {
                        next.pointee = SIMD3(
                            numbers[Int(table.corners[corner])],
                            numbers[Int(table.corners[corner + second])],
                            numbers[Int(table.corners[corner + third])]
                        )
                        next += 1
                        corner += 3
                    }
                }
            }
        }
    }

    private subscript(slice: Int, row: Int, word: Int) -> UInt64 {
        bits.words.withUnsafeBufferPointer { $0[(slice * bits.nodes.y + row) * bits.wordsPerRow + word] }
    }

    /// A word shifted by one node, with the carry bit from the next word.
    private func shifted(_ slice: Int, _ row: Int, _ word: Int) -> UInt64 {
        self[slice, row, word] >> 1 | (word + 1 < bits.wordsPerRow ? self[slice, row, word + 1] << 63 : 0)
    }

    /// The nodes of a row that differ from the next one along an axis.
    private func cuts(_ axis: Int, _ slice: Int, _ row: Int, _ word: Int) -> UInt64 {
        let here = self[slice, row, word]
        switch axis {
        case 0: return here ^ shifted(slice, row, word)
        case 1: return row + 1 < bits.nodes.y ? here ^ self[slice, row + 1, word] : 0
        default: return here ^ self[slice + 1, row, word]
        }
    }

    /// Calls `body` with the column and the case of every cell of a row that the surface passes through.
    @inline(__always)
    private func forEachCell(_ slice: Int, _ row: Int, _ body: (_ column: Int, _ inside: Int) -> Void) {
        guard row + 1 < bits.nodes.y else { return }
        for word in 0..<bits.wordsPerRow {
            let a = (self[slice, row, word], shifted(slice, row, word))
            let b = (self[slice, row + 1, word], shifted(slice, row + 1, word))
            let c = (self[slice + 1, row, word], shifted(slice + 1, row, word))
            let d = (self[slice + 1, row + 1, word], shifted(slice + 1, row + 1, word))
            let any = a.0 | a.1 | b.0 | b.1 | c.0 | c.1 | d.0 | d.1
            let all = a.0 & a.1 & b.0 & b.1 & c.0 & c.1 & d.0 & d.1
            var left = any & ~all
            while left != 0 {
                let place = UInt64(left.trailingZeroBitCount)
                left &= left &- 1
                let low =
                    a.0 &>> place & 1 | (a.1 &>> place & 1) << 1 | (b.0 &>> place & 1) << 2
                    | (b.1 &>> place & 1) << 3
                let high =
                    c.0 &>> place & 1 | (c.1 &>> place & 1) << 1 | (d.0 &>> place & 1) << 2
                    | (d.1 &>> place & 1) << 3
                body(word * 64 + Int(place), Int(low | high << 4))
            }
        }
    }
}

/// The first points of a row along i, j and k.
private typealias FirstPoints = SIMD4<UInt32>

/// An array whose elements are uninitialized; each must be written before it is read.
func uninitialized<Element: BitwiseCopyable>(_ count: Int) -> [Element] {
    Array(unsafeUninitializedCapacity: count) { $1 = count }
}
