internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

extension SurfaceExtractor {
    /// Reduces the triangles of a closed surface where they are flat, by collapsing edges.
    ///
    /// A vertex moves onto a neighbour. The error, by which collapses are ordered and limited, is the mean square distance of the
    /// neighbour from the planes of the vertex's triangles, weighted by their areas. As in P. Lindstrom and G. Turk, "Fast and memory
    /// efficient polygonal simplification" (IEEE Visualization 1998), only the present triangles count.
    ///
    /// Each vertex that is removed belongs to the triangle that is nearest to it among those that replaced its own, and is measured
    /// again with every collapse that changes this triangle: no vertex is ever further than the limit from the reduced surface. As in
    /// R. Klein, G. Liebich and W. Straßer, "Mesh reduction with error control" (IEEE Visualization 1996), but from the vertices alone.
    /// Rejected: to add up the distances of all collapses, which left 15 % more triangles, and did not bound the distance of
    /// vertices removed earlier.
    ///
    /// The surface stays closed, and keeps its parts, holes and handles: the ends of a collapsed edge have exactly two neighbours in
    /// common (the link condition), and no triangle turns by more than 75 degrees in one collapse.
    ///
    /// In each pass every vertex chooses the neighbour with the smallest error again whose triangles, or those of a neighbour, have
    /// changed. The cheaper half of all collapses, at least 1,000, is made in the order of their errors, as far as they do not touch
    /// each other. Vertices choose in parallel, collapses are made by one thread: the result is the same for any number of threads.
    ///
    /// Memory in addition to the surface and the limits: 30 bytes per vertex and 16 per triangle, about as much as smoothing needs.
    struct Reducer: Sendable {
        /// The square of the cosine of the largest angle by which a triangle may turn.
        private static let leastSquaredCosine = 0.0669872981
        private static let none = UInt32.max

        private let points: [SIMD3<Double>]
        private let limits: [Float]
        /// The first of the removed vertices that belong to each triangle, and of each of these the next one.
        private var heads: [UInt32]
        private var next: [UInt32]
        /// For each vertex the neighbour that it would move onto, and the error; infinite when there is none.
        private var targets: [UInt32]
        private var errors: [Float]
        /// Whether the triangles around a vertex changed in the last pass.
        private var isChanged: [Bool]

        /// - Parameters:
        ///   - points: in mm, near the origin.
        ///   - triangles: of a closed surface; afterwards those that are left, by the places of their corners in the result.
        ///   - limits: for each point the largest root mean square distance of a collapse, and the largest distance of a removed
        ///     vertex from the result, in mm.
        /// - Returns: the points that are left, ascending.
        /// - Throws: ``CancelledError`` when the flag of `scope` is raised; it is checked several times in each pass.
        static func reduce(
            _ points: [SIMD3<Double>],
            _ triangles: inout [SIMD3<UInt32>],
            limits: [Float],
            scope: ComputeScope
        ) throws(CancelledError) -> [UInt32] {
            var reducer = Reducer(points, limits, triangleCount: triangles.count)
            while try reducer.pass(&triangles, scope) {}
            return SurfaceExtractor.numberVertices(of: &triangles, vertexCount: points.count)
        }

        private init(_ points: [SIMD3<Double>], _ limits: [Float], triangleCount: Int) {
            self.points = points
            self.limits = limits
            heads = [UInt32](repeating: Self.none, count: triangleCount)
            next = [UInt32](repeating: Self.none, count: points.count)
            targets = [UInt32](repeating: 0, count: points.count)
            errors = [Float](repeating: .infinity, count: points.count)
            isChanged = [Bool](repeating: true, count: points.count)
        }

        /// Makes collapses that do not touch each other.
        /// - Returns: whether there were any.
        private mutating func pass(
            _ triangles: inout [SIMD3<UInt32>],
            _ scope: ComputeScope
        ) throws(CancelledError) -> Bool {
            let fans = VertexFans(vertexCount: points.count, triangles: triangles)
            try scope.check()
            for (vertex, choice) in try choices(fans, triangles, scope) {
                (targets[Int(vertex)], errors[Int(vertex)]) = (choice.target, choice.error)
            }
            let order = try order(scope)
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
                passOn(vertex, to: target, fans, triangles)
                destinations[vertex] = UInt32(target)
                errors[vertex] = .infinity
                collapses += 1
            }
            isChanged = isTouched
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
                heads[kept] = heads[place]
                kept += 1
            }
            triangles.removeLast(triangles.count - kept)
            heads.removeLast(heads.count - kept)
            try scope.check()
            return true
        }

        /// The vertices that can move, in the order of their errors: the bits of the error above those of the vertex.
        private func order(_ scope: ComputeScope) throws(CancelledError) -> [UInt64] {
            var keys: [UInt64] = []
            keys.reserveCapacity(errors.count { $0 < .infinity })
            for (vertex, error) in errors.enumerated() where error < .infinity {
                // The order of floats that are not negative is that of their bits.
                keys.append(UInt64(error.bitPattern) << 32 | UInt64(vertex))
            }
            try scope.check()
            keys.sort()
            return keys
        }

        /// The neighbour and the error of each vertex that may choose another one than in the pass before: a choice depends on the
        /// triangles around a vertex and around its neighbours.
        private func choices(
            _ fans: VertexFans,
            _ triangles: [SIMD3<UInt32>],
            _ scope: ComputeScope
        ) throws(CancelledError) -> Zip2Sequence<[UInt32], [(target: UInt32, error: Float)]> {
            let stale = stale(triangles)
            var choices = [(target: UInt32, error: Float)](repeating: (0, .infinity), count: stale.count)
            try choices.withParallelBuffer { choices throws(CancelledError) in
                try scope.forEachRange(of: stale.count, by: 1 << 12) { range in
                    var corners: [SIMD3<Double>] = []
                    for place in range {
                        choices[place] = choice(of: Int(stale[place]), fans, triangles, &corners)
                    }
                }
            }
            return zip(stale, choices)
        }

        /// Those with a changed triangle, or with a neighbour that has one, ascending.
        private func stale(_ triangles: [SIMD3<UInt32>]) -> [UInt32] {
            var isStale = [Bool](repeating: false, count: points.count)
            for triangle in triangles
            where isChanged[Int(triangle.x)] || isChanged[Int(triangle.y)] || isChanged[Int(triangle.z)] {
                for corner in 0..<3 { isStale[Int(triangle[corner])] = true }
            }
            var stale: [UInt32] = []
            stale.reserveCapacity(isStale.count { $0 })
            for vertex in isStale.indices where isStale[vertex] { stale.append(UInt32(vertex)) }
            return stale
        }

        /// The neighbour with the smallest error among those that the vertex may move onto; infinite when there is none.
        /// - Parameter corners: memory for ``isWithinLimit(_:_:_:_:_:)``.
        private func choice(
            of vertex: Int,
            _ fans: VertexFans,
            _ triangles: [SIMD3<UInt32>],
            _ corners: inout [SIMD3<Double>]
        ) -> (target: UInt32, error: Float) {
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
            guard weight > 0 else { return (0, .infinity) }
            let limit = Double(limits[vertex]) * Double(limits[vertex])
            for edge in fans.edges(of: vertex, triangles) {
                let offset = points[Int(edge.x)] - centre
                let sum = dot(squares, offset * offset) + 2 * dot(mixed, offset * SIMD3(offset.y, offset.z, offset.x))
                let error = max(sum, 0) / weight
                if error <= limit, error < best.error, isAllowed(vertex, Int(edge.x), fans, triangles),
                    isWithinLimit(vertex, Int(edge.x), fans, triangles, &corners)
                {
                    best = (edge.x, error)
                }
            }
            return (best.target, Float(best.error))
        }

        /// Whether the surface stays closed, with triangles that turn by little.
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
            guard common == 2 else { return false }
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

        /// Whether the vertex, and all removed ones that belong to its triangles, are near the triangles that replace them.
        /// - Parameter corners: memory for the corners of these triangles.
        private func isWithinLimit(
            _ vertex: Int,
            _ target: Int,
            _ fans: VertexFans,
            _ triangles: [SIMD3<UInt32>],
            _ corners: inout [SIMD3<Double>]
        ) -> Bool {
            corners.removeAll(keepingCapacity: true)
            for edge in fans.edges(of: vertex, triangles) where Int(edge.x) != target && Int(edge.y) != target {
                corners.append(points[Int(edge.x)])
                corners.append(points[Int(edge.y)])
            }
            let limit = Double(limits[vertex]) * Double(limits[vertex])
            let apex = points[target]
            /// Beginning with one of the triangles: most vertices stay near the one that replaces their own.
            func isNear(_ point: SIMD3<Double>, from start: Int) -> Bool {
                func isNear(_ place: Int) -> Bool {
                    SurfaceExtractor.squaredDistance(point, apex, corners[place], corners[place + 1]) <= limit
                }
                return stride(from: start, to: corners.count, by: 2).contains(where: isNear)
                    || stride(from: 0, to: start, by: 2).contains(where: isNear)
            }
            guard isNear(points[vertex], from: 0) else { return false }
            var replacing = 0
            for (place, edge) in zip(fans.triangles(of: vertex), fans.edges(of: vertex, triangles)) {
                let isGone = Int(edge.x) == target || Int(edge.y) == target
                var removed = heads[Int(place)]
                while removed != Self.none {
                    guard isNear(points[Int(removed)], from: isGone ? 0 : replacing) else { return false }
                    removed = next[Int(removed)]
                }
                if !isGone { replacing += 2 }
            }
            return true
        }

        /// Gives the vertex, and the removed ones that belong to its triangles, to the nearest of the triangles that replace them.
        private mutating func passOn(
            _ vertex: Int,
            to target: Int,
            _ fans: VertexFans,
            _ triangles: [SIMD3<UInt32>]
        ) {
            var moved = [UInt32(vertex)]
            var replacements: [(place: Int, first: SIMD3<Double>, second: SIMD3<Double>)] = []
            for (place, edge) in zip(fans.triangles(of: vertex), fans.edges(of: vertex, triangles)) {
                var removed = heads[Int(place)]
                while removed != Self.none {
                    moved.append(removed)
                    removed = next[Int(removed)]
                }
                heads[Int(place)] = Self.none
                guard Int(edge.x) != target, Int(edge.y) != target else { continue }
                replacements.append((Int(place), points[Int(edge.x)], points[Int(edge.y)]))
            }
            let apex = points[target]
            for removed in moved {
                let point = points[Int(removed)]
                var nearest = (place: replacements[0].place, distance: Double.infinity)
                for replacement in replacements {
                    let distance = SurfaceExtractor.squaredDistance(point, apex, replacement.first, replacement.second)
                    if distance < nearest.distance { nearest = (replacement.place, distance) }
                }
                next[Int(removed)] = heads[nearest.place]
                heads[nearest.place] = removed
            }
        }
    }
}
