import Glibc
import NocturneCore

extension RegionPlacer {
    /// The border of a flat region in mm in its plane, with its centre at the origin.
    ///
    /// A point up to ``tolerance`` outside counts as inside, so that a voxel centre on the border does not depend on
    /// rounding.
    struct Outline: Sendable {
        enum Form: Sendable {
            /// Half axes.
            case ellipse(SIMD2<Double>)
            /// Half edges.
            case rectangle(SIMD2<Double>)
            case polygon([SIMD2<Double>])
        }

        /// In mm.
        static let tolerance = 1e-7

        let form: Form
        /// The rotation from the plane's axes to those of the shape.
        private let cosine: Double
        private let sine: Double

        init(_ form: Form, rotation degrees: Double = 0) {
            self.form = form
            let angle = degrees * Double.pi / 180
            // Quarter turns without rounding.
            let quarters = degrees / 90
            if quarters == quarters.rounded() {
                let quarter = Int(quarters.truncatingRemainder(dividingBy: 4) + 4) % 4
                cosine = [1, 0, -1, 0][quarter]
                sine = [0, 1, 0, -1][quarter]
            } else {
                cosine = cos(angle)
                sine = sin(angle)
            }
        }

        private func turned(_ p: SIMD2<Double>) -> SIMD2<Double> {
            SIMD2(cosine * p.x + sine * p.y, cosine * p.y - sine * p.x)
        }

        func contains(_ point: SIMD2<Double>) -> Bool {
            let p = turned(point)
            switch form {
            case .ellipse(let radii):
                let q = p / (radii + Self.tolerance)
                return (q * q).sum() <= 1
            case .rectangle(let half): return abs(p.x) <= half.x + Self.tolerance && abs(p.y) <= half.y + Self.tolerance
            case .polygon(let corners): return Self.isInside(p, corners)
            }
        }

        /// Inside by the even-odd rule, or close to an edge.
        private static func isInside(_ p: SIMD2<Double>, _ corners: [SIMD2<Double>]) -> Bool {
            var inside = false
            var a = corners[corners.count - 1]
            for b in corners {
                let edge = b - a
                let offset = p - a
                let square = (edge * edge).sum()
                let along = square > 0 ? min(1, max(0, (offset * edge).sum() / square)) : 0
                let rest = offset - edge * along
                if (rest * rest).sum() <= tolerance * tolerance { return true }
                if (a.y > p.y) != (b.y > p.y), p.x < a.x + edge.x * (p.y - a.y) / edge.y { inside.toggle() }
                a = b
            }
            return inside
        }

        /// The smallest and largest scalar product of `direction` and a point of the region.
        func extent(along direction: SIMD2<Double>) -> ClosedRange<Double> {
            let d = turned(direction)
            switch form {
            case .ellipse(let radii):
                let reach = length(d * radii)
                return -reach...reach
            case .rectangle(let half):
                let reach = abs(d.x) * half.x + abs(d.y) * half.y
                return -reach...reach
            case .polygon(let corners):
                let products = corners.map { ($0 * d).sum() }
                return (products.min() ?? 0)...(products.max() ?? 0)
            }
        }

        /// In mm²; nil for a polygon that crosses itself.
        var area: Double? {
            switch form {
            case .ellipse(let radii): return Double.pi * radii.x * radii.y
            case .rectangle(let half): return 4 * half.x * half.y
            case .polygon(let corners):
                if Self.isSelfIntersecting(corners) { return nil }
                var sum = 0.0
                var a = corners[corners.count - 1]
                for b in corners {
                    sum += a.x * b.y - b.x * a.y
                    a = b
                }
                return abs(sum) / 2
            }
        }

        /// Whether two edges that are not neighbours intersect. Every pair is tested: a polygon has 4096 corners at most.
        private static func isSelfIntersecting(_ corners: [SIMD2<Double>]) -> Bool {
            let count = corners.count
            func side(_ a: SIMD2<Double>, _ b: SIMD2<Double>, _ c: SIMD2<Double>) -> Double {
                (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
            }
            for first in 0..<count {
                let (a, b) = (corners[first], corners[(first + 1) % count])
                for second in (first + 1)..<max(first + 1, count) {
                    if second == first + 1 || (first == 0 && second == count - 1) { continue }
                    let (c, d) = (corners[second], corners[(second + 1) % count])
                    if side(a, b, c) * side(a, b, d) < 0, side(c, d, a) * side(c, d, b) < 0 { return true }
                }
            }
            return false
        }
    }
}
