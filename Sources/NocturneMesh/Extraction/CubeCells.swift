internal import NocturneConcurrency
import NocturneSystem

/// The cells of a grid of bits through which a surface passes, and the triangles in them by the ``CubeTable``.
///
/// A cell of eight nodes contains a part of the surface when its bits are neither all set nor all clear, which is
/// tested for 64 cells of a row at a time. The lines between an inside and an outside node, with one point each, are
/// numbered row by row: first along i, then j, then k. One pass counts the points and triangles of every slice, and a
/// second one, in which slices are independent, writes them to their positions. In the second pass the number of a
/// point comes from counters that advance with the cells of a row, because every cell next to a cut line is processed:
/// no cell depends on another one. Source of the idea to count first: Schroeder, Maynard and Geveci, "Flying edges: a
/// high-performance scalable isocontouring algorithm", LDAV 2015.
///
/// Memory besides the bits: 16 bytes per row of nodes.
struct CubeCells: Sendable {
    let bits: LabelBits
    /// Whether the orientation of triangles is reversed, for left-handed grids.
    let isMirrored: Bool

    /// Number of slices of cells. All nodes of the last slice of nodes are outside: nothing starts in it.
    var slices: Int { bits.nodes.z - 1 }

    struct Counts: Sendable {
        var points = 0
        var triangles = 0
    }

    /// The first points of a row along i, j and k.
    typealias FirstPoints = SIMD4<UInt32>

    /// Where the points and triangles of every slice go.
    struct Numbering: Sendable {
        /// Before each slice.
        let first: [Counts]
        let total: Counts
        /// Meaningless when there are 2³² points or more.
        fileprivate let firstOfRow: [FirstPoints]
    }

    /// Counts the points and triangles, and numbers them.
    /// - Throws: ``CancelledError`` when the flag is raised; it is checked for every slice.
    func numbered(_ scope: ComputeScope) throws(CancelledError) -> Numbering {
        var first = [Counts](repeating: Counts(), count: slices)
        var firstOfRow = [FirstPoints](repeating: .zero, count: bits.nodes.y * bits.nodes.z)
        try firstOfRow.withParallelBuffer { rows throws(CancelledError) in
            try first.withParallelBuffer { counts throws(CancelledError) in
                try scope.forEach(slices) { counts[$0] = count(slice: $0, firstOfRow: rows.base) }
            }
        }
        var total = Counts()
        for slice in 0..<slices {
            let before = total
            total.points += first[slice].points
            total.triangles += first[slice].triangles
            first[slice] = before
            let offset = FirstPoints(repeating: UInt32(truncatingIfNeeded: before.points))
            for row in slice * bits.nodes.y..<(slice + 1) * bits.nodes.y { firstOfRow[row] &+= offset }
        }
        return Numbering(first: first, total: total, firstOfRow: firstOfRow)
    }

    /// The points that start in a slice of nodes and the triangles of the cells above it. The first points of the rows
    /// are left relative to the start of the slice.
    private func count(slice: Int, firstOfRow: UnsafeMutablePointer<FirstPoints>) -> Counts {
        var counts = Counts()
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

    /// Writes the triangles of the cells above a slice of nodes, as numbers of points.
    func writeTriangles(of slice: Int, _ numbering: Numbering, to target: UnsafeMutablePointer<SIMD3<UInt32>>) {
        let table = CubeTable.shared
        let firstOfRow = numbering.firstOfRow
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

    /// 64 nodes of a row.
    subscript(slice: Int, row: Int, word: Int) -> UInt64 {
        bits.words.withUnsafeBufferPointer { $0[(slice * bits.nodes.y + row) * bits.wordsPerRow + word] }
    }

    /// A word shifted by one node, with the carry bit from the next word.
    private func shifted(_ slice: Int, _ row: Int, _ word: Int) -> UInt64 {
        self[slice, row, word] >> 1 | (word + 1 < bits.wordsPerRow ? self[slice, row, word + 1] << 63 : 0)
    }

    /// The nodes of a row that differ from the next one along an axis.
    func cuts(_ axis: Int, _ slice: Int, _ row: Int, _ word: Int) -> UInt64 {
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
