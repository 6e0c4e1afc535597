internal import Glibc
import NocturneSystem

/// The outlines of a plane as simple loops: outer loops counter-clockwise, holes clockwise, each hole with its
/// enclosing loop.
///
/// Edges that occur an even number of times bound no area and are removed; the remaining outline is split at corners
/// that occur twice. The even-odd rule then determines which loops are holes.
struct LoopSet {
    /// Each loop has its own points.
    private(set) var points: [SIMD2<Double>] = []
    /// Indices of points, in order.
    private(set) var loops: [[Int]] = []
    /// For a hole, the loop that encloses it; nil for an outer loop.
    private(set) var enclosingLoops: [Int?] = []
    /// Whether there are more loops than can be assigned to each other; `loops` is then empty.
    private(set) var isTooMany = false

    static let maximumLoopCount = 4096

    init(of contours: [[SIMD2<Double>]], flag: CancellationFlag) {
        var corners: [SIMD2<Double>] = []
        var places: [SIMD2<Double>: Int] = [:]
        // Undirected: contours may run in either direction.
        var parities: [SIMD2<Int>: Bool] = [:]
        var order: [SIMD2<Int>] = []
        for contour in contours {
            let indices = contour.map { point in
                if let known = places[point] { return known }
                places[point] = corners.count
                corners.append(point)
                return corners.count - 1
            }
            for (index, to) in indices.enumerated() {
                let from = indices[index == 0 ? indices.count - 1 : index - 1]
                guard from != to else { continue }
                let edge = SIMD2(min(from, to), max(from, to))
                if parities[edge] == nil { order.append(edge) }
                parities[edge] = !(parities[edge] ?? false)
            }
        }
        var neighbours = [[Int]](repeating: [], count: corners.count)
        for edge in order where parities[edge] == true {
            neighbours[edge.x].append(edge.y)
            neighbours[edge.y].append(edge.x)
        }
        for here in neighbours.indices where neighbours[here].count > 2 {
            neighbours[here].sort {
                angle(from: corners[here], to: corners[$0]) < angle(from: corners[here], to: corners[$1])
            }
        }
        let paths = Self.loops(of: neighbours, flag: flag)
        guard paths.count <= Self.maximumLoopCount else {
            isTooMany = true
            return
        }
        for path in paths {
            loops.append(Array(points.count..<points.count + path.count))
            points += path.map { corners[$0] }
        }
        orient(flag)
    }

    /// Follows every edge once, and splits off a loop whenever a corner occurs again.
    ///
    /// An even number of edges meets in every corner. A path that arrives by one edge leaves by its neighbour in the
    /// order of angles, so that loops touch but never cross there.
    private static func loops(of neighbours: [[Int]], flag: CancellationFlag) -> [[Int]] {
        var isUsed = neighbours.map { [Bool](repeating: false, count: $0.count) }
        var loops: [[Int]] = []
        for start in neighbours.indices {
            for first in neighbours[start].indices where !isUsed[start][first] {
                guard !flag.isCancelled else { return loops }
                var path = [start]
                var depth = [start: 0]
                var here = start
                var way = first
                while true {
                    let there = neighbours[here][way]
                    guard let back = neighbours[there].firstIndex(of: here) else { break }
                    isUsed[here][way] = true
                    isUsed[there][back] = true
                    if let place = depth[there] {
                        let loop = Array(path[place...])
                        for corner in loop.dropFirst() { depth[corner] = nil }
                        path.removeSubrange((place + 1)...)
                        if loop.count >= 3 { loops.append(loop) }
                    } else {
                        depth[there] = path.count
                        path.append(there)
                    }
                    here = there
                    way = back ^ 1
                    if here == start, way == first { break }
                }
            }
        }
        return loops
    }

    private func doubledArea(_ loop: [Int]) -> Double {
        var sum = 0.0
        let origin = points[loop[0]]
        for index in loop.indices.dropFirst().dropLast() {
            let a = points[loop[index]] - origin
            let b = points[loop[index + 1]] - origin
            sum += a.x * b.y - a.y * b.x
        }
        return sum
    }

    private mutating func orient(_ flag: CancellationFlag) {
        let areas = loops.map(doubledArea)
        enclosingLoops = [Int?](repeating: nil, count: loops.count)
        let boxes = loops.map { loop in
            loop.reduce((points[loop[0]], points[loop[0]])) { box, corner in
                (pointwiseMin(box.0, points[corner]), pointwiseMax(box.1, points[corner]))
            }
        }
        var around = [[Int]](repeating: [], count: loops.count)
        for index in loops.indices where !flag.isCancelled {
            let probe = innerPoint(of: loops[index])
            around[index] = loops.indices.filter { other in
                other != index && abs(areas[other]) > abs(areas[index])
                    && all(boxes[other].0 .<= probe) && all(probe .<= boxes[other].1)
                    && contains(loops[other], probe)
            }
        }
        for index in loops.indices {
            // Where loops cross, a hole may be enclosed by holes only: it is then treated as an outer loop.
            let parent = around[index].filter { around[$0].count % 2 == 0 }.min { abs(areas[$0]) < abs(areas[$1]) }
            if around[index].count % 2 == 1 { enclosingLoops[index] = parent }
            if (areas[index] < 0) != (enclosingLoops[index] != nil) { loops[index].reverse() }
        }
    }

    /// A point inside a loop: near its leftmost corner.
    private func innerPoint(of loop: [Int]) -> SIMD2<Double> {
        let tip = loop.indices.min { left, right in
            let (a, b) = (points[loop[left]], points[loop[right]])
            return a.x != b.x ? a.x < b.x : a.y < b.y
        }!
        let a = points[loop[(tip + loop.count - 1) % loop.count]]
        let v = points[loop[tip]]
        let b = points[loop[(tip + 1) % loop.count]]
        // The corner inside the triangle that is furthest from its base; the line to it is then unobstructed.
        var best: SIMD2<Double>?
        var furthest = 0.0
        let turn = Self.turn(a, v, b)
        for corner in loop {
            let q = points[corner]
            guard q != a, q != v, q != b, Self.isInside(q, a, v, b, turn) else { continue }
            let distance = abs(Self.turn(a, b, q))
            if distance >= furthest {
                furthest = distance
                best = q
            }
        }
        return best.map { (v + $0) / 2 } ?? (a + v + b) / 3
    }

    private func contains(_ loop: [Int], _ probe: SIMD2<Double>) -> Bool {
        var isInside = false
        var from = points[loop[loop.count - 1]]
        for corner in loop {
            let to = points[corner]
            if (from.y > probe.y) != (to.y > probe.y),
                probe.x < from.x + (probe.y - from.y) / (to.y - from.y) * (to.x - from.x)
            {
                isInside.toggle()
            }
            from = to
        }
        return isInside
    }
}

private func angle(from: SIMD2<Double>, to: SIMD2<Double>) -> Double { atan2(to.y - from.y, to.x - from.x) }
