public import NocturneCore

/// The volume and the area of the surface between voxels inside and outside a mask, by marching cubes without smoothing.
///
/// The surface itself is not made: a cell of eight voxels contributes what its combination of voxels inside does, so that
/// cells are only counted by combination. Unlike ``SurfaceExtractor``, whose triangles have the smallest area and keep
/// diagonal voxels apart, this follows the usual tables of marching cubes, on which the reference values of the Image
/// Biomarker Standardisation Initiative rest: inside corners that are diagonal neighbours on a face are joined, and a loop
/// is filled in the way that favours neither side. All but 56 of the 256 cells are those of Lewiner et al. (2003); the
/// others have two or more ambiguous faces.
///
/// Time: one read of the mask. Memory: a table of 256 cells.
public struct VoxelSurfaceMeasures: Hashable, Sendable {
    /// In mm³.
    public let volume: Double
    /// In mm².
    public let area: Double

    /// - Parameters:
    ///   - mask: not 0 inside, in the order of `VolumeShape`. What is beyond the shape is outside.
    ///   - spacing: in mm.
    public init(of mask: [UInt8], shape: VolumeShape, spacing: SIMD3<Double>) {
        precondition(mask.count == shape.count, "the mask does not fill the shape")
        let counts = Self.counts(of: mask, shape)
        let cells = BalancedCells.shared
        var (volume, area) = (0.0, 0.0)
        for combination in 1..<256 where counts[combination] > 0 {
            volume += Double(counts[combination]) * cells.volumes[combination]
            area += Double(counts[combination]) * cells.area(of: combination, spacing: spacing)
        }
        self.volume = volume * spacing.x * spacing.y * spacing.z
        self.area = area
    }

    /// How many cells have each combination. Corner c is at i + (c & 1), j + (c >> 1 & 1), k + (c >> 2 & 1).
    private static func counts(of mask: [UInt8], _ shape: VolumeShape) -> [Int] {
        var counts = [Int](repeating: 0, count: 256)
        let empty = [UInt8](repeating: 0, count: shape.x + 2)
        func row(_ j: Int, _ k: Int) -> [UInt8] {
            guard j >= 0, k >= 0, j < shape.y, k < shape.z else { return empty }
            let first = shape.offset(0, j, k)
            return [0] + mask[first..<first + shape.x].map { $0 != 0 ? 1 : 0 } + [0]
        }
        for k in -1..<shape.z {
            var (lower, upper) = (empty, row(-1, k + 1))
            for j in -1..<shape.y {
                let (nextLower, nextUpper) = (row(j + 1, k), row(j + 1, k + 1))
                var before = 0
                for i in 0..<shape.x + 2 {
                    let column = lower[i] | nextLower[i] << 2 | upper[i] << 4 | nextUpper[i] << 6
                    if i > 0 { counts[before | Int(column) << 1] += 1 }
                    before = Int(column)
                }
                (lower, upper) = (nextLower, nextUpper)
            }
        }
        return counts
    }

    /// The volume inside each cell and the triangles in it.
    fileprivate struct BalancedCells: Sendable {
        static let shared = BalancedCells()

        /// Inside a cell with sides of 1.
        let volumes: [Double]
        private let triangles: [[[SIMD3<Double>]]]

        private init() {
            let edges = CubeTable.shared.edges
            let finder = CubeTable.LoopFinder(edges: edges, joinsDiagonals: true)
            let middles = CubeTable.LoopFiller(edges: edges).middles.map { $0 - 0.5 }
            var triangulations: [Int: [[SIMD3<Int>]]] = [:]
            let triangles = (0..<256).map { inside in
                finder.loops(of: inside).flatMap { loop in
                    let possible = triangulations[loop.count] ?? Self.triangulations(0...loop.count - 1)
                    triangulations[loop.count] = possible
                    return Self.fill(loop.map { middles[$0] }, possible)
                }
            }
            volumes = (0..<256).map { inside in
                // The divergence theorem, seen from the centre: faces are half a side away.
                let areas = finder.faces.map { face in Self.insideArea(face.map { inside >> $0 & 1 == 1 }) }
                return areas.reduce(0, +) / 6 + triangles[inside].map(Self.volume).reduce(0, +)
            }
            self.triangles = triangles
        }

        func area(of inside: Int, spacing: SIMD3<Double>) -> Double {
            triangles[inside].reduce(0) { sum, triangle in
                let (u, v) = ((triangle[1] - triangle[0]) * spacing, (triangle[2] - triangle[0]) * spacing)
                return sum + length(cross(u, v)) / 2
            }
        }

        /// The part of a face inside the surface: an outside corner between inside ones cuts off an eighth.
        private static func insideArea(_ isInside: [Bool]) -> Double {
            switch isInside.count(where: { $0 }) {
            case 0: 0
            case 1: 0.125
            case 2: isInside[0] == isInside[2] ? 0.75 : 0.5
            case 3: 0.875
            default: 1
            }
        }

        /// The triangulation that encloses the volume closest to 0 between itself and the centre; of several, that with the
        /// smallest area, then the first one.
        private static func fill(_ loop: [SIMD3<Double>], _ triangulations: [[SIMD3<Int>]]) -> [[SIMD3<Double>]] {
            var best: (volume: Double, area: Double, triangles: [SIMD3<Int>])?
            for triangles in triangulations {
                var (volume, area) = (0.0, 0.0)
                for corners in triangles {
                    let (a, b, c) = (loop[corners.x], loop[corners.y], loop[corners.z])
                    volume += dot(a, cross(b, c)) / 6
                    area += length(cross(b - a, c - a)) / 2
                }
                volume = abs(volume)
                let isBetter =
                    best.map { volume < $0.volume - 1e-9 || volume < $0.volume + 1e-9 && area < $0.area - 1e-9 } ?? true
                if isBetter { best = (volume, area, triangles) }
            }
            return best?.triangles.map { [loop[$0.x], loop[$0.y], loop[$0.z]] } ?? []
        }

        /// All triangulations of a loop, by the numbers of its points.
        private static func triangulations(_ points: ClosedRange<Int>) -> [[SIMD3<Int>]] {
            guard points.count > 2 else { return [[]] }
            let (first, last) = (points.lowerBound, points.upperBound)
            return (first + 1..<last).flatMap { tip in
                triangulations(first...tip).flatMap { left in
                    triangulations(tip...last).map { left + $0 + [SIMD3(first, tip, last)] }
                }
            }
        }

        /// Of the pyramid with its tip at the centre.
        private static func volume(_ triangle: [SIMD3<Double>]) -> Double {
            dot(triangle[0], cross(triangle[1], triangle[2])) / 6
        }
    }
}
