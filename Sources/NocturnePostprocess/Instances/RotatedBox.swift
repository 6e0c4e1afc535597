import Glibc
public import NocturneCore

/// The smallest rectangle around a mask, at any angle.
public struct RotatedBox: Hashable, Sendable {
    /// In pixels of the picture; (0, 0) is the corner of the first pixel.
    public let centre: SIMD2<Double>
    /// Extents across and along the spine: `height` is the side that is vertical after rotation to the upright
    /// position.
    public let width: Double
    /// The extent along the spine, at least ``width``.
    public let height: Double
    /// The clockwise rotation from the upright position, -135...45; an object lying with its top on the left has -90.
    public let degrees: Double

    /// Top left, top right, bottom right, bottom left of the box in its upright position.
    public let corners: [SIMD2<Double>]

    /// The rectangle of least area around a mask's pixels (including their whole squares), upright on its shorter side;
    /// nil for an empty mask.
    ///
    /// One of its sides lies on a side of the convex hull (Freeman and Shapira 1975). A tilted object keeps its top; a
    /// lying one (more than 45° from upright) is treated as rotated so that its left end is its top: spines whose text
    /// runs from top to bottom then read in the lying position.
    public init?(around mask: RunLengthMask) {
        guard let least = MinimumRectangle(around: mask) else { return nil }
        let (along, across) = (least.along, least.across)
        let extent = least.high - least.low
        centre = least.point(at: (least.low + least.high) / 2)
        // In pictures y increases downwards: "up" is towards smaller y.
        let isSquare = abs(extent.x - extent.y) <= 0.02 * max(extent.x, extent.y)
        let candidates = [(along, extent.x, extent.y), (across, extent.y, extent.x)]
        let long = candidates.max { $0.1 < $1.1 } ?? candidates[0]
        let steep = candidates.max { abs($0.0.y) < abs($1.0.y) } ?? candidates[0]
        let (direction, height, width) = isSquare ? steep : long
        let up = Self.head(of: direction)
        self.height = height
        self.width = width
        let right = SIMD2(-up.y, up.x)
        degrees = Self.rounded(Self.degrees(of: up))
        let (halfUp, halfRight) = (up * (height / 2), right * (width / 2))
        corners = [
            centre + halfUp - halfRight, centre + halfUp + halfRight, centre - halfUp + halfRight,
            centre - halfUp - halfRight,
        ]
    }

    /// An upright box.
    public init(box: PixelBox) {
        let (left, top) = (Double(box.x), Double(box.y))
        width = Double(box.width)
        height = Double(box.height)
        centre = SIMD2(left + width / 2, top + height / 2)
        degrees = 0
        corners = [
            SIMD2(left, top), SIMD2(left + width, top), SIMD2(left + width, top + height), SIMD2(left, top + height),
        ]
    }

    /// Which of the two ends is the top: the upper one of an upright object, the left one of a lying object.
    private static func head(of direction: SIMD2<Double>) -> SIMD2<Double> {
        if abs(direction.y) >= abs(direction.x) { return direction.y <= 0 ? direction : -direction }
        return direction.x <= 0 ? direction : -direction
    }

    /// Clockwise from straight up; y is downwards.
    private static func degrees(of up: SIMD2<Double>) -> Double {
        atan2(up.x, -up.y) * 180 / .pi
    }

    /// Rounded to thousandths: the last bits of an angle depend on the library.
    private static func rounded(_ value: Double) -> Double {
        let result = (value * 1000).rounded() / 1000
        return result == 0 ? 0 : result
    }
}
