import NocturneSystem

extension LoopSet {
    /// The area, signed by the direction of the loops, and whether the loops cross.
    ///
    /// The inside is triangulated by ear clipping, after every hole was joined to its enclosing loop. Only crossing loops
    /// produce triangles that overlap: their areas, each counted as positive, then add up to more than the loops enclose.
    func measured(_ flag: CancellationFlag) -> (area: Double, isCrossed: Bool) {
        var (area, covered) = (0.0, 0.0)
        for (index, loop) in loops.enumerated() where enclosingLoops[index] == nil {
            if flag.isCancelled { return (0, false) }
            let holes = loops.indices.filter { enclosingLoops[$0] == index }.map { loops[$0] }
            covered += Self.cutEars(Self.joined(loop, holes, points), points, flag)
        }
        for loop in loops {
            for place in loop.indices.dropFirst().dropLast() {
                area += Self.turn(points[loop[0]], points[loop[place]], points[loop[place + 1]]) / 2
            }
        }
        return (area, abs(covered - area) > 1e-4 * max(abs(area), 1e-12))
    }

    /// Twice the area of a triangle, above 0 when it is counter-clockwise.
    static func turn(_ a: SIMD2<Double>, _ b: SIMD2<Double>, _ c: SIMD2<Double>) -> Double {
        let (u, v) = (b - a, c - a)
        return u.x * v.y - u.y * v.x
    }

    /// Whether `q` lies in a triangle of orientation `sign`, including its border.
    static func isInside(
        _ q: SIMD2<Double>,
        _ a: SIMD2<Double>,
        _ b: SIMD2<Double>,
        _ c: SIMD2<Double>,
        _ sign: Double
    ) -> Bool {
        let s: Double = sign < 0 ? -1 : 1
        return turn(a, b, q) * s >= 0 && turn(b, c, q) * s >= 0 && turn(c, a, q) * s >= 0
    }

    // MARK: Holes

    /// Joins a loop and its holes into one ring: a bridge leads from the leftmost corner of each hole to the left.
    ///
    /// Method: D. Eberly, "Triangulation by Ear Clipping" (2002).
    private static func joined(_ loop: [Int], _ holes: [[Int]], _ points: [SIMD2<Double>]) -> [Int] {
        func leftmost(_ hole: [Int]) -> Int {
            hole.indices.min { left, right in
                let (a, b) = (points[hole[left]], points[hole[right]])
                return a.x != b.x ? a.x < b.x : a.y < b.y
            }!
        }
        let entries = holes.map { (hole: $0, entry: leftmost($0)) }.sorted { one, other in
            let (a, b) = (points[one.hole[one.entry]], points[other.hole[other.entry]])
            return a.x != b.x ? a.x < b.x : a.y < b.y
        }
        var ring = loop
        for (hole, entry) in entries {
            let place = visibleCorner(from: points[hole[entry]], in: ring, points)
            let around = Array(hole[entry...] + hole[..<entry])
            ring.replaceSubrange((place + 1)..<(place + 1), with: around + [around[0], ring[place]])
        }
        return ring
    }

    /// A corner of the ring that is visible from `from`.
    private static func visibleCorner(from m: SIMD2<Double>, in ring: [Int], _ points: [SIMD2<Double>]) -> Int {
        // The nearest edge to the left at the height of the corner. The ring's inside is to the right of it, so it runs
        // downwards.
        var nearest = -Double.infinity
        var place = 0
        for index in ring.indices {
            let a = points[ring[index]]
            let b = points[ring[(index + 1) % ring.count]]
            guard a.y >= m.y, b.y <= m.y, a.y != b.y else { continue }
            let x = a.x + (m.y - a.y) / (b.y - a.y) * (b.x - a.x)
            guard x <= m.x, x > nearest else { continue }
            nearest = x
            place = a.x < b.x ? index : (index + 1) % ring.count
            if a == SIMD2(x, m.y) { place = index }
            if b == SIMD2(x, m.y) { place = (index + 1) % ring.count }
        }
        guard nearest > -.infinity else { return 0 }
        let hit = SIMD2(nearest, m.y)
        let candidate = points[ring[place]]
        // Corners in the triangle between may hide it, and bridges create duplicate corners. The corner at the flattest
        // angle is visible; on a tie, the nearest one; then the one with the widest opening.
        var best = place
        var rank = (tangent: Double.infinity, distance: Double.infinity, closeness: 3)
        let sign = turn(m, hit, candidate)
        for index in ring.indices {
            let q = points[ring[index]]
            let isBetween =
                candidate == hit ? q.y == m.y && q.x >= nearest : isInside(q, m, hit, candidate, sign)
            guard q.x < m.x, isBetween else { continue }
            let closeness = closeness(towards: m, ring, index, points)
            guard closeness < 2 else { continue }
            let found = (abs(q.y - m.y) / (m.x - q.x), m.x - q.x, closeness)
            if found < (rank.tangent, rank.distance, rank.closeness) {
                rank = found
                best = index
            }
        }
        return best
    }

    /// The position of a point relative to the angle of a corner inside the ring: 0 inside, 1 on its border, 2 outside.
    private static func closeness(
        towards m: SIMD2<Double>,
        _ ring: [Int],
        _ index: Int,
        _ points: [SIMD2<Double>]
    ) -> Int {
        let before = points[ring[(index + ring.count - 1) % ring.count]]
        let here = points[ring[index]]
        let after = points[ring[(index + 1) % ring.count]]
        let one = turn(before, here, m)
        let other = turn(here, after, m)
        if turn(before, here, after) >= 0 {
            return one > 0 && other > 0 ? 0 : one >= 0 && other >= 0 ? 1 : 2
        }
        return one > 0 || other > 0 ? 0 : one >= 0 || other >= 0 ? 1 : 2
    }

    // MARK: Ears

    /// Clips triangles off a ring until nothing is left.
    /// - Returns: the sum of the triangle areas, each counted as positive.
    private static func cutEars(_ ring: [Int], _ points: [SIMD2<Double>], _ flag: CancellationFlag) -> Double {
        var next = ring.indices.map { ($0 + 1) % ring.count }
        var previous = ring.indices.map { ($0 + ring.count - 1) % ring.count }
        func point(_ index: Int) -> SIMD2<Double> { points[ring[index]] }
        var covered = 0.0
        var left = ring.count
        var here = 0
        var refused = 0
        while left > 2 {
            if flag.isCancelled { return covered }
            let (a, b, c) = (point(previous[here]), point(here), point(next[here]))
            let area = turn(a, b, c)
            // If no ear is left, because loops cross or touch, the current corner is clipped regardless.
            var isEar = area >= 0
            // A corner on a straight line, or a spike, can always be removed.
            if area > 0, refused <= left {
                var other = next[next[here]]
                while other != previous[here] {
                    let q = point(other)
                    // If a convex corner is inside, a reflex one is too: only reflex corners need a test.
                    if q != a, q != b, q != c, turn(point(previous[other]), q, point(next[other])) <= 0,
                        isInside(q, a, b, c, 1)
                    {
                        isEar = false
                        break
                    }
                    other = next[other]
                }
            }
            if !isEar, refused <= left {
                here = next[here]
                refused += 1
                continue
            }
            covered += abs(area) / 2
            next[previous[here]] = next[here]
            previous[next[here]] = previous[here]
            left -= 1
            refused = 0
            // Continue two corners further, so that the triangles do not all share one corner.
            here = next[next[here]]
        }
        return covered
    }
}
