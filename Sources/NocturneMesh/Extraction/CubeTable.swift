/// The triangles of a cell of eight voxels, for each of the 256 combinations of corners inside and outside.
///
/// Marching cubes (Lorensen and Cline, 1987) with one rule for ambiguous faces: **inside corners that are diagonal
/// neighbours on a face are separated**, in every cell alike. So the inside is connected only through faces, and two
/// cells always agree about the face between them: the surface has no cracks. The table is computed, not written by
/// hand:
/// 1. On each face, every run of inside corners is separated by one directed segment. Each cut edge of the cube is the
///    end of one segment and the start of another, so the segments form closed loops.
/// 2. Each loop is filled with triangles whose inner edges never connect two vertices of one face. An edge on a face
///    could also occur in the neighbouring cell; an edge inside the cell belongs to this cell only. Hence every edge of
///    the surface is shared by exactly two triangles, and the triangles around a vertex form one fan.
///
/// Corner `c` has offsets i = c & 1, j = c >> 1 & 1, k = c >> 2 & 1. Bit `c` of a case is set if corner `c` is inside.
struct CubeTable: Sendable {
    /// An edge of the cube: its axis and its starting corner.
    struct Edge: Sendable {
        let axis: Int
        let corner: Int
    }

    static let shared = CubeTable()

    /// The 12 edges, by axis and then by starting corner.
    let edges: [Edge]
    /// Three edge numbers per triangle, counter-clockwise seen from outside when i, j, k are right-handed.
    let corners: [UInt8]
    /// Where each case starts in `corners`; 257 numbers.
    let starts: [Int32]

    /// The number of points on the edges that start at the cell's lower end along i: 0 or 1 each.
    struct Passed: Sendable {
        /// On the edges along i, by (j, k): 00, 10, 01, 11.
        let alongI: SIMD4<UInt32>
        /// On the edges along j with k = 0 and 1, and on those along k with j = 0 and 1.
        let alongJK: SIMD4<UInt32>
    }

    /// For each case.
    let passed: [Passed]

    /// The maximum number of triangles of a case per cut edge. Four cells share an edge.
    var maximumTrianglesPerCut: Double {
        (1..<255).map { inside in
            let used = corners[Int(starts[inside])..<Int(starts[inside + 1])]
            return Double(used.count / 3) / Double(Set(used).count)
        }.max() ?? 0
    }

    private init() {
        var edges: [Edge] = []
        for axis in 0..<3 {
            for corner in 0..<8 where corner >> axis & 1 == 0 { edges.append(Edge(axis: axis, corner: corner)) }
        }
        self.edges = edges
        let loops = LoopFinder(edges: edges)
        let filler = LoopFiller(edges: edges)
        var corners: [UInt8] = []
        var starts: [Int32] = [0]
        for inside in 0..<256 {
            for loop in loops.loops(of: inside) {
                corners += filler.triangles(of: loop).flatMap { $0.map(UInt8.init) }
            }
            starts.append(Int32(corners.count))
        }
        passed = (0..<256).map { inside in
            func isCut(_ edge: Int) -> UInt32 {
                let (axis, corner) = (edges[edge].axis, edges[edge].corner)
                return UInt32((inside >> corner ^ inside >> (corner | 1 << axis)) & 1)
            }
            return Passed(
                alongI: SIMD4(isCut(0), isCut(1), isCut(2), isCut(3)),
                alongJK: SIMD4(isCut(4), isCut(6), isCut(8), isCut(10))
            )
        }
        self.corners = corners
        self.starts = starts
    }
}

extension CubeTable {
    /// Step 1: the closed loops where the surface intersects the faces of the cube.
    struct LoopFinder {
        private let numberOfEdge: [Int: Int]
        /// The corners of each face, counter-clockwise seen from outside the cube.
        let faces: [[Int]]

        /// Whether inside corners that are diagonal neighbours on a face are joined instead of separated.
        private let joinsDiagonals: Bool

        init(edges: [CubeTable.Edge], joinsDiagonals: Bool = false) {
            self.joinsDiagonals = joinsDiagonals
            numberOfEdge = Dictionary(
                uniqueKeysWithValues: edges.enumerated().map { ($1.corner << 4 | ($1.corner | 1 << $1.axis), $0) }
            )
            var faces: [[Int]] = []
            for axis in 0..<3 {
                let u = 1 << ((axis + 1) % 3)
                let v = 1 << ((axis + 2) % 3)
                faces.append([0, v, u | v, u])
                faces.append([0, u, u | v, v].map { $0 | 1 << axis })
            }
            self.faces = faces
        }

        func loops(of inside: Int) -> [[Int]] {
            var next = [Int?](repeating: nil, count: 12)
            for face in faces {
                for segment in segments(of: face, inside) { next[segment.from] = segment.to }
            }
            var loops: [[Int]] = []
            var seen = Set<Int>()
            for start in 0..<12 where next[start] != nil && !seen.contains(start) {
                var loop: [Int] = []
                var edge = start
                while seen.insert(edge).inserted, let following = next[edge] {
                    loop.append(edge)
                    edge = following
                }
                loops.append(loop)
            }
            return loops
        }

        /// The directed segments that separate the inside corners of a face: one for each run of inside corners, or for each run
        /// of outside corners where diagonal corners are joined.
        private func segments(of face: [Int], _ inside: Int) -> [(from: Int, to: Int)] {
            let isInside = face.map { inside >> $0 & 1 == 1 }
            return (0..<4).filter { isInside[$0] && !isInside[($0 + 1) % 4] }.map { position in
                // A run of inside corners ends here. Go back to its start, or on to the end of the run of outside corners.
                let leaving = edge(face[position], face[(position + 1) % 4])
                if joinsDiagonals {
                    var last = (position + 1) % 4
                    while !isInside[(last + 1) % 4] { last = (last + 1) % 4 }
                    return (edge(face[last], face[(last + 1) % 4]), leaving)
                }
                var first = position
                while isInside[(first + 3) % 4] { first = (first + 3) % 4 }
                return (edge(face[(first + 3) % 4], face[first]), leaving)
            }
        }

        private func edge(_ a: Int, _ b: Int) -> Int {
            guard let number = numberOfEdge[min(a, b) << 4 | max(a, b)] else {
                preconditionFailure("corners \(a) and \(b) of a cube are not neighbours")
            }
            return number
        }
    }

    /// Step 2: triangles that fill a loop.
    struct LoopFiller {
        /// The points of the edges in a cube with sides of 1.
        let middles: [SIMD3<Double>]
        /// The faces (of six) that contain each edge, as bits.
        private let facesOfEdge: [Int]

        init(edges: [CubeTable.Edge]) {
            middles = edges.map { edge in
                var point = SIMD3(Double(edge.corner & 1), Double(edge.corner >> 1 & 1), Double(edge.corner >> 2 & 1))
                point[edge.axis] += 0.5
                return point
            }
            facesOfEdge = edges.map { edge in
                (0..<3).filter { $0 != edge.axis }.reduce(0) { $0 | 1 << ($1 * 2 + (edge.corner >> $1 & 1)) }
            }
        }

        /// The triangulation with the smallest area among those without an inner edge on a face; on a tie the first one
        /// found.
        func triangles(of loop: [Int]) -> [[Int]] {
            guard let best = fill(loop, 0, loop.count - 1) else {
                preconditionFailure("a loop of the cube table cannot be filled: \(loop)")
            }
            return best.triangles
        }

        /// Fills the part of the loop between two of its vertices, on the side of the higher indices between them.
        private func fill(_ loop: [Int], _ from: Int, _ to: Int) -> (area: Double, triangles: [[Int]])? {
            if to - from < 2 { return (0, []) }
            var best: (area: Double, triangles: [[Int]])?
            for tip in from + 1..<to where mayJoin(loop, from, tip) && mayJoin(loop, tip, to) {
                guard let left = fill(loop, from, tip), let right = fill(loop, tip, to) else { continue }
                let area = left.area + right.area + self.area(loop[from], loop[tip], loop[to])
                if let known = best, known.area <= area + 1e-12 { continue }
                best = (area, left.triangles + right.triangles + [[loop[from], loop[tip], loop[to]]])
            }
            return best
        }

        /// Neighbours in the loop are already connected; others may be connected if no face contains both.
        private func mayJoin(_ loop: [Int], _ a: Int, _ b: Int) -> Bool {
            b - a == 1 || b - a == loop.count - 1 || facesOfEdge[loop[a]] & facesOfEdge[loop[b]] == 0
        }

        private func area(_ a: Int, _ b: Int, _ c: Int) -> Double {
            let u = middles[b] - middles[a]
            let v = middles[c] - middles[a]
            let normal = SIMD3(u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x)
            return (normal * normal).sum().squareRoot() / 2
        }
    }
}
