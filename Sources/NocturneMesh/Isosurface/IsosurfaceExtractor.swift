public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// Creates the closed triangle surface where the intensity of a volume has a given value.
///
/// Marching cubes (Lorensen and Cline, SIGGRAPH 1987) on the grid of voxel centres, with the triangles of
/// ``CubeTable`` and points by linear interpolation between neighbouring voxels. Nothing is smoothed: the surface has
/// the detail, and the noise, of the volume.
public enum IsosurfaceExtractor {
    /// The surface around the voxels whose intensity is at least `value`, in RAS+ mm, corners counter-clockwise seen from
    /// the side below the value.
    ///
    /// Every edge is shared by exactly two triangles in opposite directions. What is outside the volume counts as below
    /// the value: the surface is closed at the border, half a voxel beyond the outermost voxel centres. NaN counts as
    /// below the value too; next to it, and next to infinite values, the surface runs half-way between the voxels. Voxels
    /// that touch only through an edge or a corner stay separate. Oblique, sheared, anisotropic and left-handed grids are
    /// handled exactly.
    ///
    /// Points keep a distance of 1/1024 of the step between voxels from voxel centres: where a voxel has exactly the
    /// value, the points around it stay different, in files as well.
    ///
    /// The bytes are the same for any number of threads. Time: two reads of every voxel, then linear in triangles.
    /// Memory: ``predictedBytes(_:triangles:)``.
    /// - Parameters:
    ///   - value: in the unit of the volume; finite.
    ///   - limit: the most triangles that are made.
    /// - Returns: an empty mesh when no voxel has the value or more.
    /// - Throws: ``IsosurfaceExtractor/LimitError`` when the surface has more triangles than `limit`, before memory is allocated for
    ///   them; ``CancelledError`` when the flag of `scope` is raised, which is checked for every slice.
    public static func surface(
        at value: Float,
        in volume: Volume,
        limit: Int = .max,
        scope: ComputeScope
    ) throws -> SurfaceMesh {
        let geometry = volume.geometry
        return try volume.voxels.withParallelReader { reader in
            let shape = geometry.shape
            let bits = try LabelBits(box: VoxelBox(all: shape), scope: scope) { slice, rows, words in
                let least = SIMD16<Float>(repeating: value)
                let places = SIMD16<UInt32>(truncatingIfNeeded: LabelBits.places)
                for row in 0..<shape.y {
                    let line = reader.base + shape.offset(0, row, slice)
                    LabelBits.load(line, count: shape.x, to: rows + row * words) { voxels in
                        UInt64(SIMD16<UInt32>.zero.replacing(with: places, where: voxels .>= least).wrappedSum())
                    } isSet: {
                        $0 >= value
                    }
                }
            }
            let cells = CubeCells(bits: bits, isMirrored: geometry.affine.determinant < 0)
            let numbering = try cells.numbered(scope)
            let total = numbering.total
            guard total.triangles <= limit, total.points < Int(UInt32.max) else {
                throw LimitError(triangles: total.triangles, limit: limit)
            }
            let points = Points(cells: cells, voxels: reader, geometry: geometry, value: value)
            return try mesh(of: cells, numbering, points, scope)
        }
    }

    private static func mesh(
        of cells: CubeCells,
        _ numbering: CubeCells.Numbering,
        _ points: Points,
        _ scope: ComputeScope
    ) throws(CancelledError) -> SurfaceMesh {
        guard numbering.total.points > 0 else { return SurfaceMesh() }
        var vertices: [SIMD3<Float>] = uninitialized(numbering.total.points)
        var triangles: [SIMD3<UInt32>] = uninitialized(numbering.total.triangles)
        try vertices.withParallelBuffer { vertices throws(CancelledError) in
            try triangles.withParallelBuffer { triangles throws(CancelledError) in
                try scope.forEach(cells.slices) { slice in
                    let first = numbering.first[slice]
                    points.write(slice: slice, to: vertices.base + first.points)
                    cells.writeTriangles(of: slice, numbering, to: triangles.base + first.triangles)
                }
            }
        }
        return SurfaceMesh(vertices: vertices, triangles: triangles)
    }

    /// The most bytes of ``surface(at:in:limit:scope:)`` with its result, besides the volume.
    ///
    /// A closed surface has half as many points as triangles, and two more for each of its parts, none of which has fewer
    /// than 8 triangles: at most three points for four triangles, of 16 bytes each.
    /// - Parameter triangles: the limit.
    public static func predictedBytes(_ shape: VolumeShape, triangles: Int) -> Int {
        LabelBits.byteCount(shape) + 16 * (shape.y + 2) * (shape.z + 2) + 32 * (shape.z + 2) + 28 * triangles
    }

    /// The most triangles that the surface in a volume of this shape can have.
    public static func triangleBound(of shape: VolumeShape) -> Int {
        let starts = CubeTable.shared.starts
        let most = zip(starts, starts.dropFirst()).map { Int($1 - $0) / 3 }.max() ?? 0
        return (shape.x + 1) * (shape.y + 1) * (shape.z + 1) * most
    }
}

extension IsosurfaceExtractor {
    /// A surface that would have more triangles than are allowed.
    public struct LimitError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The exact number that the surface would have.
        public let triangles: Int
        /// The most triangles that were allowed.
        public let limit: Int

        /// Both numbers, for a person.
        public var description: String { "the surface would have \(triangles) triangles, more than \(limit)" }
    }
}
