internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

extension SurfaceExtractor {
    /// Reduces the triangles of a closed surface where they are flat, by collapsing edges.
    ///
    /// A vertex moves onto a neighbour. The error is the mean square distance of the neighbour from the planes of the vertex's
    /// triangles, weighted by their areas. As in P. Lindstrom and G. Turk, "Fast and memory efficient polygonal simplification"
    /// (IEEE Visualization 1998), only the present triangles count. How far the surface around a vertex has moved in all passes is
    /// added up as well. Both are limited. They do not bound the distance of the two surfaces: points that were collapsed earlier
    /// are not measured again, nor are those inside of the new triangles, and restoring the volume moves them all.
    ///
    /// The surface stays closed, and keeps its parts, holes and handles: the ends of a collapsed edge have exactly two neighbours in
    /// common (the link condition), and no triangle turns by more than 75 degrees.
    ///
    /// In each pass every vertex chooses the neighbour with the smallest error, and the cheaper half of these collapses is made in
    /// the order of their errors, as far as they do not touch each other. Vertices choose in parallel, collapses are made by one
    /// thread: the result is the same for any number of threads.
    ///
    /// Memory besides the surface: 33 bytes per vertex and 12 per triangle, no more than smoothing needs.
    struct Reducer: Sendable {
        /// The square of the cosine of the largest angle by which a triangle may turn.
        private static let leastSquaredCosine = 0.0669872981

        private let points: [SIMD3<Double>]
        private let limits: [Float]
        /// How far the points that were collapsed into each vertex may be from the surface, in mm.
        private var deviations: [Double]

        /// - Parameters:
        ///   - points: in mm, near the origin.
        ///   - triangles: of a closed surface; afterwards those that are left, by the places of their corners in the result.
        ///   - limits: for each point the largest root mean square distance, and the largest deviation, in mm.
        /// - Returns: the points that are left, ascending.
        /// - Throws: ``CancelledError`` when the flag of `scope` is raised; it is checked several times in each pass.
        static func reduce(
            _ points: [SIMD3<Double>],
            _ triangles: inout [SIMD3<UInt32>],
            limits: [Float],
            scope: ComputeScope
        ) throws(CancelledError) -> [UInt32] {
            var reducer = Reducer(points, limits)
            while try reducer.pass(&triangles, scope) {}
            return compact(&triangles, vertexCount: points.count)
        }

        private init(_ points: [SIMD3<Double>], _ limits: [Float]) {
            self.points = points
            self.limits = limits
            deviations = [Double](repeating: 0, count: points.count)
        }

        /// Makes collapses that do not touch each other.
        /// - Returns: whether there were any.
        private mutating func pass(
            _ triangles: inout [SIMD3<UInt32>],
            _ scope: ComputeScope
        ) throws(CancelledError) -> Bool {
            let fans = VertexFans(vertexCount: points.count, triangles: triangles)
            try scope.check()
            let (targets, order) = try choices(fans, triangles, scope)
            var isTouched = [Bool](repeating: false, count: points.count)
            var destinations = Array(0..<UInt32(points.count))
            var collapses = 0
            // The errors of the others may fall when these are made.
            for key in order.prefix(max(order.count / 2, 1000)) {
                let vertex = Int(truncatingIfNeeded: key & 0xFFFF_FFFF)
                let target = Int(targets[vertex])
                guard !isTouched[vertex], !isTouched[target] else { continue }
                // What was checked holds as long as the neighbours of both ends are the same.
                isTouched[vertex] = true
                for edge in fans.edges(of: vertex, triangles) { isTouched[Int(edge.x)] = true }
                deviations[target] = max(deviations[target], deviation(of: vertex, onto: target, fans, triangles))
                destinations[vertex] = UInt32(target)
                collapses += 1
            }
            try scope.check()
            guard collapses > 0 else { return false }
            var kept = 0
            for place in triangles.indices {
                let triangle = triangles[place]
                let moved = SIMD3(
                    destinations[Int(triangle.x)],
                    destinations[Int(triangle.y)],
                    destinations[Int(triangle.z)]
                )
                guard moved.x != moved.y, moved.y != moved.z, moved.z != moved.x else { continue }
                triangles[kept] = moved
                kept += 1
            }
            triangles.removeLast(triangles.count - kept)
            try scope.check()
            return true
        }

        /// For each vertex the neighbour that it would move onto; and the vertices that can, in the order of their errors: the bits of
        /// the error above those of the vertex.
        private func choices(
            _ fans: VertexFans,
            _ triangles: [SIMD3<UInt32>],
            _ scope: ComputeScope
        ) throws(CancelledError) -> (targets: [UInt32], order: [UInt64]) {
            var targets: [UInt32] = uninitialized(points.count)
            var keys: [UInt64] = uninitialized(points.count)
            try targets.withParallelBuffer { targets throws(CancelledError) in
                try keys.withParallelBuffer { keys throws(CancelledError) in
                    try scope.forEachRange(of: points.count, by: 1 << 12) { range in
                        for vertex in range {
                            let choice = choice(of: vertex, fans, triangles)
                            targets[vertex] = choice.target
                            // The order of floats that are not negative is that of their bits.
                            let error = Float(choice.error).bitPattern
                            keys[vertex] = UInt64(error) << 32 | UInt64(UInt32(truncatingIfNeeded: vertex))
                        }
                    }
                }
            }
            keys.removeAll { $0 >> 32 >= UInt64(Float.infinity.bitPattern) }
            try scope.check()
            keys.sort()
            return (targets, keys)
        }

        /// The neighbour with the smallest error among those that the vertex may move onto; infinite when there is none.
        private func choice(
            of vertex: Int,
            _ fans: VertexFans,
            _ triangles: [SIMD3<UInt32>]
        ) -> (target: UInt32, error: Double) {
            let centre = points[vertex]
            // The planes pass through the vertex, so the sum of squared distances of a point is a quadratic form of its offset.
            var (squares, mixed, weight) = (SIMD3<Double>.zero, SIMD3<Double>.zero, 0.0)
            for edge in fans.edges(of: vertex, triangles) {
                let normal = cross(points[Int(edge.x)] - centre, points[Int(edge.y)] - centre)
                let size = length(normal)
                guard size > 0 else { continue }
                squares += normal * normal / size
                mixed += normal * SIMD3(normal.y, normal.z, normal.x) / size
                weight += size
            }
            var best = (target: UInt32(0), error: Double.infinity)
            guard weight > 0 else { return best }
            let limit = Double(limits[vertex]) * Double(limits[vertex])
            for edge in fans.edges(of: vertex, triangles) {
                let offset = points[Int(edge.x)] - centre
                let sum = dot(squares, offset * offset) + 2 * dot(mixed, offset * SIMD3(offset.y, offset.z, offset.x))
                let error = max(sum, 0) / weight
                if error <= limit, error < best.error, isAllowed(vertex, Int(edge.x), fans, triangles) {
                    best = (edge.x, error)
                }
            }
            return best
        }

        /// Whether the surface stays closed, within the limit, with triangles that turn by little.
        private func isAllowed(
            _ vertex: Int,
            _ target: Int,
            _ fans: VertexFans,
            _ triangles: [SIMD3<UInt32>]
        ) -> Bool {
            let own = fans.edges(of: vertex, triangles)
            var common = 0
            for edge in fans.edges(of: target, triangles) where own.contains(where: { $0.x == edge.x }) {
                common += 1
                // It loses a triangle, and a closed surface has three around every vertex.
                guard fans.edges(of: Int(edge.x), triangles).count > 3 else { return false }
            }
            guard common == 2, deviation(of: vertex, onto: target, fans, triangles) <= Double(limits[vertex]) else {
                return false
            }
            let (old, new) = (points[vertex], points[target])
            for edge in own where Int(edge.x) != target && Int(edge.y) != target {
                let (first, second) = (points[Int(edge.x)], points[Int(edge.y)])
                let before = cross(first - old, second - old)
                let after = cross(first - new, second - new)
                let product = dot(before, after)
                let least = Self.leastSquaredCosine * dot(before, before) * dot(after, after)
                guard product > 0, product * product >= least else { return false }
            }
            return true
        }

        /// How far the surface around a vertex deviates when it moves onto a neighbour: what it deviates already, and the distance of
        /// the vertex from its new triangles.
        private func deviation(
            of vertex: Int,
            onto target: Int,
            _ fans: VertexFans,
            _ triangles: [SIMD3<UInt32>]
        ) -> Double {
            let (point, centre) = (points[vertex], points[target])
            var smallest = Double.infinity
            for edge in fans.edges(of: vertex, triangles) where Int(edge.x) != target && Int(edge.y) != target {
                let (first, second) = (points[Int(edge.x)], points[Int(edge.y)])
                smallest = min(smallest, Self.squaredDistance(point, centre, first, second))
            }
            return deviations[vertex] + smallest.squareRoot()
        }

        /// From a point to a triangle: C. Ericson, "Real-time collision detection" (2005), section 5.1.5.
        private static func squaredDistance(
            _ p: SIMD3<Double>,
            _ a: SIMD3<Double>,
            _ b: SIMD3<Double>,
            _ c: SIMD3<Double>
        ) -> Double {
            func squared(_ v: SIMD3<Double>) -> Double { dot(v, v) }
            let (ab, ac, ap) = (b - a, c - a, p - a)
            let (d1, d2) = (dot(ab, ap), dot(ac, ap))
            if d1 <= 0 && d2 <= 0 { return squared(ap) }
            let bp = p - b
            let (d3, d4) = (dot(ab, bp), dot(ac, bp))
            if d3 >= 0 && d4 <= d3 { return squared(bp) }
            let vc = d1 * d4 - d3 * d2
            if vc <= 0 && d1 >= 0 && d3 <= 0 { return squared(ap - d1 / (d1 - d3) * ab) }
            let cp = p - c
            let (d5, d6) = (dot(ab, cp), dot(ac, cp))
            if d6 >= 0 && d5 <= d6 { return squared(cp) }
            let vb = d5 * d2 - d1 * d6
            if vb <= 0 && d2 >= 0 && d6 <= 0 { return squared(ap - d2 / (d2 - d6) * ac) }
            let va = d3 * d6 - d5 * d4
            if va <= 0 && d4 >= d3 && d5 >= d6 { return squared(bp - (d4 - d3) / (d4 - d3 + d5 - d6) * (c - b)) }
            return squared(ap - (vb * ab + vc * ac) / (va + vb + vc))
        }

        /// Numbers the vertices that triangles have.
        /// - Returns: those vertices, ascending.
        private static func compact(_ triangles: inout [SIMD3<UInt32>], vertexCount: Int) -> [UInt32] {
            var places = [UInt32](repeating: 0, count: vertexCount)
            for triangle in triangles {
                for corner in 0..<3 { places[Int(triangle[corner])] = 1 }
            }
            let kept = places.indices.filter { places[$0] == 1 }.map { UInt32($0) }
            for (place, vertex) in kept.enumerated() { places[Int(vertex)] = UInt32(place) }
            for index in triangles.indices {
                let triangle = triangles[index]
                triangles[index] = SIMD3(places[Int(triangle.x)], places[Int(triangle.y)], places[Int(triangle.z)])
            }
            return kept
        }
    }
}

extension SurfaceExtractor.Reducer {
    /// The triangles around each vertex of a closed surface: 4 bytes per vertex and 12 per triangle.
    private struct VertexFans: Sendable {
        private let starts: [UInt32]
        /// The places of the triangles around each vertex.
        private let places: [UInt32]

        init(vertexCount: Int, triangles: [SIMD3<UInt32>]) {
            var starts = [UInt32](repeating: 0, count: vertexCount + 1)
            for triangle in triangles {
                for corner in 0..<3 { starts[Int(triangle[corner])] += 1 }
            }
            // Counted down from the ends, so that no copy of the starts is needed.
            var end: UInt32 = 0
            for vertex in starts.indices {
                end += starts[vertex]
                starts[vertex] = end
            }
            var places: [UInt32] = uninitialized(3 * triangles.count)
            for (place, triangle) in triangles.enumerated() {
                for corner in 0..<3 {
                    let vertex = Int(triangle[corner])
                    starts[vertex] -= 1
                    places[Int(starts[vertex])] = UInt32(truncatingIfNeeded: place)
                }
            }
            self.starts = starts
            self.places = places
        }

        /// The edges opposite of a vertex, counter-clockwise seen from outside. On a closed surface every neighbour begins one of
        /// them.
        func edges(of vertex: Int, _ triangles: [SIMD3<UInt32>]) -> some Collection<SIMD2<UInt32>> {
            places[Int(starts[vertex])..<Int(starts[vertex + 1])].lazy.map { place in
                let triangle = triangles[Int(place)]
                return triangle.x == vertex
                    ? SIMD2(triangle.y, triangle.z)
                    : triangle.y == vertex ? SIMD2(triangle.z, triangle.x) : SIMD2(triangle.x, triangle.y)
            }
        }
    }
}
