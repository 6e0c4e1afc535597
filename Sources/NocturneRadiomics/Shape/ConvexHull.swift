internal import NocturneCore

/// The convex hull of points with integer coordinates, computed exactly (Barber, Dobkin and Huhdanpaa, "The quickhull
/// algorithm for convex hulls", 1996).
///
/// The points of a mesh around voxels lie half-way between voxels: on integers in half steps. Whether a point is outside a
/// face is a determinant of integers, so that flat faces need no tolerance.
package struct ConvexHull: Sendable {
    /// The points that faces use.
    package private(set) var points: [SIMD3<Int>] = []
    /// Three points each, counter-clockwise seen from outside.
    package private(set) var faces: [SIMD3<Int>] = []

    /// Empty when all points lie in a plane.
    /// - Parameter points: below 2¹⁹ in magnitude.
    package init(of points: [SIMD3<Int>]) {
        let candidates = Self.extremes(points)
        guard var builder = Builder(candidates) else { return }
        builder.build()
        var numbers: [Int: Int] = [:]
        for face in builder.faces where face.isPresent {
            var corners = SIMD3(0, 0, 0)
            for corner in 0..<3 {
                let point = face.corners[corner]
                if let number = numbers[point] {
                    corners[corner] = number
                } else {
                    corners[corner] = self.points.count
                    numbers[point] = self.points.count
                    self.points.append(candidates[point])
                }
            }
            faces.append(corners)
        }
    }

    /// The corners of the convex hull of each plane of constant z, in order: no other point can be a corner of the hull.
    private static func extremes(_ points: [SIMD3<Int>]) -> [SIMD3<Int>] {
        let sorted = points.sorted { ($0.z, $0.y, $0.x) < ($1.z, $1.y, $1.x) }
        var found: [SIMD3<Int>] = []
        var start = 0
        while start < sorted.count {
            var end = start
            while end < sorted.count, sorted[end].z == sorted[start].z { end += 1 }
            found += chain(sorted[start..<end]) + chain(sorted[start..<end].reversed())
            start = end
        }
        var unique: [SIMD3<Int>] = []
        var seen: Set<SIMD3<Int>> = []
        for point in found where seen.insert(point).inserted { unique.append(point) }
        return unique
    }

    /// One side of the convex hull of points in a plane, by Andrew's monotone chain.
    private static func chain(_ points: some Collection<SIMD3<Int>>) -> [SIMD3<Int>] {
        var chain: [SIMD3<Int>] = []
        for point in points {
            while chain.count > 1 {
                let (a, b) = (chain[chain.count - 2], chain[chain.count - 1])
                guard (b.y - a.y) * (point.x - a.x) - (b.x - a.x) * (point.y - a.y) <= 0 else { break }
                chain.removeLast()
            }
            chain.append(point)
        }
        return chain
    }

    /// The volume and the area with a size of the steps in mm.
    package func size(step: SIMD3<Double>) -> (volume: Double, area: Double) {
        // Tetrahedra from one corner of the hull: six times their volume is a triple product.
        guard let origin = points.first else { return (.nan, .nan) }
        var (volume, area) = (0.0, 0.0)
        for face in faces {
            let corners = (0..<3).map { SIMD3<Double>(points[face[$0]] &- origin) * step }
            let normal = cross(corners[1] - corners[0], corners[2] - corners[0])
            volume += dot(corners[0], normal)
            area += length(normal)
        }
        return (volume / 6, area / 2)
    }

    /// The largest distance of two points.
    package func diameter(step: SIMD3<Double>) -> Double {
        // Points that are farthest from each other are corners of the hull, so pairs of inner points need not be compared.
        let places = points.map { SIMD3<Double>($0) * step }
        var greatest = 0.0
        for (number, a) in places.enumerated() {
            for b in places[..<number] {
                let difference = a - b
                greatest = max(greatest, (difference * difference).sum())
            }
        }
        return places.isEmpty ? .nan : greatest.squareRoot()
    }
}

extension ConvexHull {
    /// The hull of the points that were taken so far.
    fileprivate struct Builder {
        struct Face {
            /// Counter-clockwise seen from outside.
            var corners: SIMD3<Int>
            var normal: SIMD3<Int>
            var offset: Int
            /// The face beyond the edge from each corner to the next.
            var neighbours = SIMD3(-1, -1, -1)
            /// Points outside this face that no earlier face has.
            var outside: [Int] = []
            var isPresent = true
        }

        /// An edge between faces that a point sees and a face that it does not see.
        private struct HorizonEdge {
            let from: Int
            let to: Int
            let beyond: Int
        }

        private let points: [SIMD3<Int>]
        private(set) var faces: [Face] = []

        /// nil when all points lie in a plane.
        init?(_ points: [SIMD3<Int>]) {
            self.points = points
            guard let first = points.first,
                let second = points.indices.max(by: {
                    Self.square(points[$0] &- first) < Self.square(points[$1] &- first)
                })
            else { return nil }
            let line = points[second] &- first
            guard Self.square(line) > 0,
                let third = points.indices.max(by: {
                    Self.square(Self.product(line, points[$0] &- first))
                        < Self.square(Self.product(line, points[$1] &- first))
                })
            else { return nil }
            let normal = Self.product(line, points[third] &- first)
            guard
                let fourth = points.indices.max(by: {
                    abs(Self.scalar(normal, points[$0] &- first)) < abs(Self.scalar(normal, points[$1] &- first))
                })
            else { return nil }
            let height = Self.scalar(normal, points[fourth] &- first)
            guard height != 0 else { return nil }
            // The base is seen from the side away from the fourth point.
            let base = height < 0 ? SIMD3(0, second, third) : SIMD3(0, third, second)
            start(base, apex: fourth)
        }

        private mutating func start(_ base: SIMD3<Int>, apex: Int) {
            let corners = [base] + (0..<3).map { SIMD3(base[($0 + 1) % 3], base[$0], apex) }
            faces = corners.map(face)
            for a in 0..<4 {
                for edge in 0..<3 {
                    let (from, to) = (corners[a][edge], corners[a][(edge + 1) % 3])
                    for b in 0..<4 where b != a {
                        for other in 0..<3 where corners[b][other] == to && corners[b][(other + 1) % 3] == from {
                            faces[a].neighbours[edge] = b
                        }
                    }
                }
            }
            // Points inside the tetrahedron are outside no face, and never looked at again.
            for point in points.indices { assign(point, to: 0..<4) }
        }

        private func face(_ corners: SIMD3<Int>) -> Face {
            let origin = points[corners.x]
            let normal = Self.product(points[corners.y] &- origin, points[corners.z] &- origin)
            return Face(corners: corners, normal: normal, offset: Self.scalar(normal, origin))
        }

        private func height(of point: Int, over face: Int) -> Int {
            Self.scalar(faces[face].normal, points[point]) - faces[face].offset
        }

        private mutating func assign(_ point: Int, to candidates: Range<Int>) {
            for face in candidates where height(of: point, over: face) > 0 {
                faces[face].outside.append(point)
                return
            }
        }

        mutating func build() {
            var next = 0
            while next < faces.count {
                while faces[next].isPresent,
                    let farthest = faces[next].outside.max(by: {
                        height(of: $0, over: next) < height(of: $1, over: next)
                    })
                {
                    add(farthest, seenFrom: next)
                }
                next += 1
            }
        }

        private mutating func add(_ point: Int, seenFrom first: Int) {
            // Faces that the point sees, and the horizon around them.
            var visible = [first]
            faces[first].isPresent = false
            var horizon: [HorizonEdge] = []
            var place = 0
            while place < visible.count {
                let face = faces[visible[place]]
                for edge in 0..<3 {
                    let neighbour = face.neighbours[edge]
                    if faces[neighbour].isPresent, height(of: point, over: neighbour) > 0 {
                        faces[neighbour].isPresent = false
                        visible.append(neighbour)
                    } else if faces[neighbour].isPresent {
                        let (from, to) = (face.corners[edge], face.corners[(edge + 1) % 3])
                        horizon.append(HorizonEdge(from: from, to: to, beyond: neighbour))
                    }
                }
                place += 1
            }
            connect(horizon, to: point)
            let added = faces.count - horizon.count..<faces.count
            for face in visible {
                for other in faces[face].outside where other != point { assign(other, to: added) }
                faces[face].outside = []
            }
        }

        /// Makes a face for every edge of the horizon.
        private mutating func connect(_ horizon: [HorizonEdge], to point: Int) {
            let first = faces.count
            var byStart: [Int: Int] = [:]
            for (number, edge) in horizon.enumerated() {
                var new = face(SIMD3(edge.from, edge.to, point))
                new.neighbours[0] = edge.beyond
                faces.append(new)
                byStart[edge.from] = first + number
                let corners = faces[edge.beyond].corners
                for place in 0..<3 where corners[place] == edge.to && corners[(place + 1) % 3] == edge.from {
                    faces[edge.beyond].neighbours[place] = first + number
                }
            }
            for (number, edge) in horizon.enumerated() {
                guard let following = byStart[edge.to] else { continue }
                faces[first + number].neighbours[1] = following
                faces[following].neighbours[2] = first + number
            }
        }

        private static func scalar(_ a: SIMD3<Int>, _ b: SIMD3<Int>) -> Int { a.x * b.x + a.y * b.y + a.z * b.z }

        private static func square(_ a: SIMD3<Int>) -> Double {
            let values = SIMD3<Double>(a)
            return (values * values).sum()
        }

        private static func product(_ a: SIMD3<Int>, _ b: SIMD3<Int>) -> SIMD3<Int> {
            SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
        }
    }
}
