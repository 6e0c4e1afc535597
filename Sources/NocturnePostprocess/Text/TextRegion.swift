import Foundation
import NocturneCore
public import NocturneSystem

extension TextRegion {
    /// Thresholds for finding lines of text in a map of probabilities.
    public struct Rules: Hashable, Sendable {
        /// A pixel above it belongs to a line.
        public var threshold: Float = 0.3
        /// The least mean probability of a line's rectangle.
        public var boxThreshold: Float = 0.6
        /// A rectangle grows on each side by its area times this number, divided by its perimeter: the network marks only the core
        /// of a line.
        public var growth: Float = 1.5
        /// Whether the pixels of lines are joined with those to the right and below.
        public var isDilated = false

        /// The values of a package take the place of the defaults.
        public init() {}
    }
}

/// A rectangle with a line of text, at any angle.
public struct TextRegion: Hashable, Sendable {
    /// Top left, top right, bottom right, bottom left in pixels of the map, whose centres are whole numbers. The top side is
    /// the one that is less than 45° from horizontal.
    public let corners: [SIMD2<Double>]
    /// The mean probability in the rectangle before it grew, 0...1.
    public let score: Float
}

/// Lines of text in the map of probabilities of a network with differentiable binarization (Liao et al. 2020), as
/// PaddleOCR's DBPostProcess finds them: threshold, components, rectangle of least area, mean probability, growth.
///
/// Components have 4 neighbours; their holes are ignored.
extension TextRegion {
    /// The least shorter side of a rectangle, in pixels, before it grows and after that.
    private static let leastSides = (before: 3.0, after: 5.0)
    /// Rectangles beyond this number are dropped, those found last first.
    private static let maximumRegions = 1000

    /// The lines in the order of their first pixel, row by row. Takes about 20 ns per pixel.
    /// - Parameter map: `width` × `height` probabilities, row by row.
    /// - Throws: ``NetworkOutputError`` for a map of another size or with values that are not finite; `CancelledError`.
    public static func find(
        in map: [Float],
        width: Int,
        height: Int,
        rules: Rules,
        flag: CancellationFlag = CancellationFlag()
    ) throws -> [TextRegion] {
        guard width > 0, height > 0, map.count == width * height else {
            throw NetworkOutputError(detail: "a map of \(map.count) values for \(width)×\(height) pixels")
        }
        guard map.allSatisfy(\.isFinite) else { throw NetworkOutputError(detail: "probabilities are not numbers") }
        let components = try PlaneComponents(width: width, height: height, flag: flag) { place in
            func isText(_ place: Int) -> Bool { map[place] > rules.threshold }
            if isText(place) { return true }
            guard rules.isDilated else { return false }
            let (hasLeft, hasAbove) = (place % width > 0, place >= width)
            if hasLeft, isText(place - 1) { return true }
            if hasAbove, isText(place - width) { return true }
            return hasLeft && hasAbove && isText(place - width - 1)
        }
        var regions: [TextRegion] = []
        for points in outlines(of: components, width: width) where regions.count < maximumRegions {
            try flag.check()
            guard let found = RotatedBox.MinimumRectangle(around: points) else { continue }
            let size = found.high - found.low
            guard size.min() >= leastSides.before else { continue }
            let corners = corners(of: found)
            let score = mean(of: map, width: width, within: corners)
            guard score >= rules.boxThreshold,
                let margin = RotatedBox.MinimumRectangle(around: outline(around: corners, growth: Double(rules.growth)))
            else { continue }
            guard (margin.high - margin.low).min() >= leastSides.after else { continue }
            regions.append(TextRegion(corners: Self.corners(of: margin), score: score))
        }
        return regions
    }

    /// Of each component the first and last pixel of every row.
    private static func outlines(of components: PlaneComponents, width: Int) -> [[SIMD2<Double>]] {
        var outlines = [[SIMD2<Double>]](repeating: [], count: components.count)
        for (place, label) in components.labels.enumerated() where label > 0 {
            let point = SIMD2(Double(place % width), Double(place / width))
            let count = outlines[Int(label) - 1].count
            if count > 1, outlines[Int(label) - 1][count - 1].y == point.y,
                outlines[Int(label) - 1][count - 2].y == point.y
            {
                outlines[Int(label) - 1][count - 1] = point
            } else {
                outlines[Int(label) - 1].append(point)
            }
        }
        return outlines
    }

    /// Of the pixels in a convex polygon whose corners are cut down to whole pixels, and of those that its sides pass through, as
    /// OpenCV's `fillPoly` draws it.
    private static func mean(of map: [Float], width: Int, within corners: [SIMD2<Double>]) -> Float {
        let last = SIMD2(Double(width - 1), Double(map.count / width - 1))
        let bounds = corners.bounds
        let low = bounds.low.rounded(.down).clamped(lowerBound: .zero, upperBound: last)
        let high = bounds.high.rounded(.up).clamped(lowerBound: .zero, upperBound: last)
        let cut = corners.map { ($0 - low).rounded(.towardZero) + low }
        let sides = cut.indices.map { (start: cut[$0], side: cut[($0 + 1) % cut.count] - cut[$0]) }
        var (sum, count) = (0.0, 0)
        for y in Int(low.y)...Int(high.y) {
            for x in Int(low.x)...Int(high.x) {
                let isInside = sides.allSatisfy { start, side in
                    let offset = SIMD2(Double(x), Double(y)) - start
                    return side.x * offset.y - side.y * offset.x >= -max(abs(side.x), abs(side.y)) / 2
                }
                guard isInside else { continue }
                sum += Double(map[y * width + x])
                count += 1
            }
        }
        return count > 0 ? Float(sum / Double(count)) : 0
    }

    /// Points around a rectangle that grew, as PaddleOCR computes them with Clipper (Vatti's method, round joins): corners are cut down
    /// to whole pixels, arcs deviate by at most a quarter of a pixel, and points are rounded. The exact rectangle is up to 1.7 pixels
    /// from theirs, after which 3 of 130 lines were read otherwise.
    /// - Parameter corners: clockwise.
    static func outline(around corners: [SIMD2<Double>], growth: Double) -> [SIMD2<Double>] {
        let (along, across) = (length(corners[1] - corners[0]), length(corners[3] - corners[0]))
        let margin = along * across * growth / (2 * (along + across))
        let cut = corners.map { $0.rounded(.towardZero) }
        let normals = cut.indices.map { index in
            let side = cut[(index + 1) % cut.count] - cut[index]
            return SIMD2(side.y, -side.x) / length(side)
        }
        // A full circle in chords that are at most 0.25 pixels inside it.
        let circle = margin > 0.25 ? Double.pi / acos(1 - 0.25 / margin) : 1
        return cut.indices.flatMap { index in
            let (before, after) = (normals[(index + cut.count - 1) % cut.count], normals[index])
            let angle = atan2(before.x * after.y - before.y * after.x, (before * after).sum())
            let steps = max(Int((circle * abs(angle) / (2 * .pi)).rounded()), 1)
            return (0...steps).map { step in
                let turn = angle * Double(step) / Double(steps)
                let rotated = before * cos(turn) + SIMD2(-before.y, before.x) * sin(turn)
                return (cut[index] + margin * rotated).rounded(.toNearestOrAwayFromZero)
            }
        }
    }

    /// Top left first, clockwise.
    private static func corners(of rectangle: RotatedBox.MinimumRectangle) -> [SIMD2<Double>] {
        let (low, high) = (rectangle.low, rectangle.high)
        let around = [low, SIMD2(high.x, low.y), high, SIMD2(low.x, high.y)].map(rectangle.point(at:))
        // Of the four sides in turn, the top one goes to the right.
        let top = around.indices.max { first, second in
            func rightwards(_ index: Int) -> Double {
                let side = around[(index + 1) % 4] - around[index]
                return side.x / length(side)
            }
            return rightwards(first) < rightwards(second)
        }
        return (0..<4).map { around[((top ?? 0) + $0) % 4] }
    }
}
