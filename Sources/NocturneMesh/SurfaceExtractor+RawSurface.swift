internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

extension SurfaceExtractor {
    /// The boundary between the voxels of a label and all others, before any smoothing.
    struct RawSurface: Sendable {
        /// In mm from the centre of the voxel at `origin`: midpoints of the lines between an inside and an outside voxel.
        var points: [SIMD3<Double>] = []
        /// Counter-clockwise seen from outside.
        var triangles: [SIMD3<UInt32>] = []
        /// Twice the volume, in voxels, assigned to each point: see ``SurfaceExtractor/ComponentVolumes``.
        var doubledVolumes: [Int32] = []
        /// The voxel that is the origin of the points.
        var origin = SIMD3<Int>(0, 0, 0)
    }
}

extension SurfaceExtractor.RawSurface {
    /// The surface of one label with the ``CubeTable``: ``CubeCells`` with points half-way between voxels.
    ///
    /// Memory besides the surface: one bit per voxel of the box, 16 bytes per row.
    /// - Throws: ``CancelledError`` when the flag is raised; it is checked for every slice.
    init(_ bits: LabelBits, affine: Affine, scope: ComputeScope) throws(CancelledError) {
        let cells = CubeCells(bits: bits, isMirrored: affine.determinant < 0)
        let numbering = try cells.numbered(scope)
        let total = numbering.total
        precondition(total.points < Int(UInt32.max), "a surface has fewer than 2³² points")
        origin = bits.box.lower &- SIMD3(1, 1, 1)
        guard total.points > 0 else { return }
        points = uninitialized(total.points)
        doubledVolumes = uninitialized(total.points)
        triangles = uninitialized(total.triangles)
        try points.withParallelBuffer { points throws(CancelledError) in
            try doubledVolumes.withParallelBuffer { volumes throws(CancelledError) in
                try triangles.withParallelBuffer { triangles throws(CancelledError) in
                    try scope.forEach(cells.slices) { slice in
                        let first = numbering.first[slice]
                        Self.writePoints(
                            of: cells,
                            affine,
                            slice: slice,
                            to: points.base + first.points,
                            volumes.base + first.points
                        )
                        cells.writeTriangles(of: slice, numbering, to: triangles.base + first.triangles)
                    }
                }
            }
        }
    }

    /// Writes the points of a slice of nodes: for each row those along i, then along j, then along k.
    private static func writePoints(
        of cells: CubeCells,
        _ affine: Affine,
        slice: Int,
        to points: UnsafeMutablePointer<SIMD3<Double>>,
        _ doubledVolumes: UnsafeMutablePointer<Int32>
    ) {
        let bits = cells.bits
        var number = 0
        let (i, j, k) = (affine.columnI, affine.columnJ, affine.columnK)
        for row in 0..<bits.nodes.y {
            let node = Double(row) * j + Double(slice) * k
            for axis in 0..<3 {
                let start = node + 0.5 * (axis == 0 ? i : axis == 1 ? j : k)
                for word in 0..<bits.wordsPerRow {
                    var left = cells.cuts(axis, slice, row, word)
                    guard left != 0 else { continue }
                    let inside = cells[slice, row, word]
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
}

/// An array whose elements are uninitialized; each must be written before it is read.
func uninitialized<Element: BitwiseCopyable>(_ count: Int) -> [Element] {
    Array(unsafeUninitializedCapacity: count) { $1 = count }
}
