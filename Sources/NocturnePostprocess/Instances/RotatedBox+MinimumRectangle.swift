import NocturneCore

extension RotatedBox {
    /// The rectangle of least area around points, at any angle. One of its sides lies on a side of the convex hull (Freeman and
    /// Shapira 1975).
    struct MinimumRectangle {
        /// The direction of one side, of length 1.
        let along: SIMD2<Double>
        /// The least coordinates of the points along ``along`` and ``across``.
        let low: SIMD2<Double>
        /// The greatest coordinates.
        let high: SIMD2<Double>

        /// ``along`` turned by 90°: clockwise, since y is downwards.
        var across: SIMD2<Double> { SIMD2(-along.y, along.x) }

        /// Nil for points whose convex hull does not have three corners.
        init?(around points: [SIMD2<Double>]) {
            let hull = Self.hull(of: points)
            guard hull.count >= 3 else { return nil }
            var best: (area: Double, direction: SIMD2<Double>, low: SIMD2<Double>, high: SIMD2<Double>)?
            for index in hull.indices {
                let side = hull[(index + 1) % hull.count] - hull[index]
                let extent = length(side)
                guard extent > 0 else { continue }
                let along = side / extent
                let across = SIMD2(-along.y, along.x)
                let (low, high) = hull.lazy.map { SIMD2(($0 * along).sum(), ($0 * across).sum()) }.bounds
                let area = (high.x - low.x) * (high.y - low.y)
                if area < (best?.area ?? .infinity) - 1e-9 { best = (area, along, low, high) }
            }
            guard let best else { return nil }
            (along, low, high) = (best.direction, best.low, best.high)
        }

        /// The point with these coordinates along ``along`` and ``across``.
        func point(at place: SIMD2<Double>) -> SIMD2<Double> { along * place.x + across * place.y }
    }
}

extension RotatedBox.MinimumRectangle {
    /// The rectangle around a mask's pixels; nil for an empty mask.
    init?(around mask: RunLengthMask) { self.init(around: Self.corners(of: mask)) }

    /// The corners that decide the convex hull of a mask's pixels (including their whole squares): of
    /// every column only the first and last pixel are relevant.
    private static func corners(of mask: RunLengthMask) -> [SIMD2<Double>] {
        var columns: [(x: Int, top: Int, bottom: Int)] = []
        mask.forEachRun { x, rows in
            if let last = columns.last, last.x == x {
                columns[columns.count - 1].bottom = rows.upperBound
            } else {
                columns.append((x, rows.lowerBound, rows.upperBound))
            }
        }
        var points: [SIMD2<Double>] = []
        for column in columns {
            for x in [column.x, column.x + 1] {
                points.append(SIMD2(Double(x), Double(column.top)))
                points.append(SIMD2(Double(x), Double(column.bottom)))
            }
        }
        return points
    }

    /// The convex hull: corners clockwise in the picture (y downwards); empty for fewer than three points. Andrew's monotone chain (1979).
    private static func hull(of points: [SIMD2<Double>]) -> [SIMD2<Double>] {
        guard points.count >= 3 else { return [] }
        let points = points.sorted { ($0.x, $0.y) < ($1.x, $1.y) }
        let upper = chain(points)
        let lower = chain(points.reversed())
        return Array(upper.dropLast() + lower.dropLast())
    }

    private static func chain(_ points: [SIMD2<Double>]) -> [SIMD2<Double>] {
        var chain: [SIMD2<Double>] = []
        for point in points {
            while chain.count >= 2 {
                let (a, b) = (chain[chain.count - 2], chain[chain.count - 1])
                let turn = (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x)
                guard turn <= 0 else { break }
                chain.removeLast()
            }
            chain.append(point)
        }
        return chain
    }
}
