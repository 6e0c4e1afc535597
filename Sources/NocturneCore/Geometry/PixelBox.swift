/// A part of a picture, or of a frame: columns from the left, rows from the top, in pixels.
public struct PixelBox: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The first column, from 0.
    public var x: Int
    /// The first row, from 0.
    public var y: Int
    /// The number of columns; 0 for an empty mask.
    public var width: Int
    /// The number of rows; 0 for an empty mask.
    public var height: Int

    /// Any numbers, also negative ones: uses check whether the box is in the picture.
    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// A square in the middle of a picture, at the position of torchvision's CenterCrop: half of the remaining length precedes it, and
    /// an odd half is rounded to the even number.
    /// - Parameter side: that of the largest one by default.
    public static func centreSquare(width: Int, height: Int, side: Int? = nil) -> PixelBox {
        let side = side ?? min(width, height)
        func margin(_ length: Int) -> Int { Int((Double(length - side) / 2).rounded(.toNearestOrEven)) }
        return PixelBox(x: margin(width), y: margin(height), width: side, height: side)
    }

    /// Such as "256×256 from column 0, row 40".
    public var description: String { "\(width)×\(height) from column \(x), row \(y)" }

    /// Whether it has pixels and all of them are in a picture of that size.
    package func fits(width pictureWidth: Int, height pictureHeight: Int) -> Bool {
        // Differences are used, because sums of arbitrary numbers may overflow.
        x >= 0 && y >= 0 && width > 0 && height > 0 && x <= pictureWidth && y <= pictureHeight
            && width <= pictureWidth - x && height <= pictureHeight - y
    }
}
