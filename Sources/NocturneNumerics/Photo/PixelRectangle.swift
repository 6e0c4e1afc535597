/// A part of a picture: columns from the left, rows from the top, in pixels.
public struct PixelRectangle: Hashable, Sendable, CustomStringConvertible {
    public let x: Int
    public let y: Int
    public let width: Int
    public let height: Int

    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// The largest square in the middle of a picture, at the position of torchvision's CenterCrop of the shorter side:
    /// half of the remaining length precedes it, and an odd half is rounded to the even number.
    public static func centreSquare(width: Int, height: Int) -> PixelRectangle {
        let side = min(width, height)
        func margin(_ length: Int) -> Int { Int((Double(length - side) / 2).rounded(.toNearestOrEven)) }
        return PixelRectangle(x: margin(width), y: margin(height), width: side, height: side)
    }

    public var description: String { "\(width)×\(height) from column \(x), row \(y)" }

    /// Whether it has pixels and all of them are in a picture of that size.
    func fits(width pictureWidth: Int, height pictureHeight: Int) -> Bool {
        // Differences are used, because sums of arbitrary numbers may overflow.
        x >= 0 && y >= 0 && width > 0 && height > 0 && x <= pictureWidth && y <= pictureHeight
            && width <= pictureWidth - x && height <= pictureHeight - y
    }
}
