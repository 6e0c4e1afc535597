public import NocturneCore

/// A turn of a picture by 90°, or none.
public enum QuarterTurn: String, Sendable, CaseIterable {
    /// Text that runs from top to bottom becomes horizontal.
    case counterclockwise
    /// Text that runs from bottom to top becomes horizontal.
    case clockwise
    /// Upright text stays as it is.
    case none

    /// The turned picture.
    public func applied(to image: RGBImage) -> RGBImage {
        guard self != .none else { return image }
        var turned = RGBImage(width: image.height, height: image.width)
        image.samples.withUnsafeBufferPointer { source in
            turned.samples.withUnsafeMutableBufferPointer { target in
                for y in 0..<image.width {
                    for x in 0..<image.height {
                        let (column, row) =
                            self == .counterclockwise ? (image.width - 1 - y, x) : (y, image.height - 1 - x)
                        let (to, from) = (3 * (y * image.height + x), 3 * (row * image.width + column))
                        for channel in 0..<3 { target[to + channel] = source[from + channel] }
                    }
                }
            }
        }
        return turned
    }

    /// Where a point of the turned picture lies in the picture; centres of pixels are whole numbers.
    /// - Parameters:
    ///   - width: of the picture before it was turned.
    ///   - height: of the picture before it was turned.
    public func source(of point: SIMD2<Double>, width: Int, height: Int) -> SIMD2<Double> {
        switch self {
        case .counterclockwise: SIMD2(Double(width - 1) - point.y, point.x)
        case .clockwise: SIMD2(point.y, Double(height - 1) - point.x)
        case .none: point
        }
    }
}

extension RGBImage {
    /// The part within four corners, and the corners in the order in which it is read: top left first, clockwise. A
    /// part that is at least one and a half times as high as wide is turned counterclockwise, as PaddleOCR does it.
    /// - Parameter corners: top left, top right, bottom right, bottom left; centres of pixels are whole numbers.
    /// - Returns: nil for less than 4 pixels on a side.
    public func lineOfText(within corners: [SIMD2<Double>]) -> (image: RGBImage, corners: [SIMD2<Double>])? {
        func side(_ first: Int, _ second: Int) -> Double { length(corners[second] - corners[first]) }
        let width = Int(max(side(0, 1), side(3, 2)))
        let height = Int(max(side(0, 3), side(1, 2)))
        guard min(side(0, 1), side(0, 3)) >= 4, width > 0, height > 0 else { return nil }
        var line = RGBImage(width: width, height: height)
        var alpha = [UInt8](repeating: 0, count: width * height)
        MaskedSampling.sample(
            self,
            opacity: [UInt8](repeating: 255, count: self.width * self.height),
            at: MaskedSampling.Grid(
                start: corners[0],
                across: (corners[1] - corners[0]) / Double(width),
                down: (corners[3] - corners[0]) / Double(height)
            ),
            into: &line,
            alpha: &alpha
        )
        guard 2 * height >= 3 * width else { return (line, corners) }
        return (QuarterTurn.counterclockwise.applied(to: line), [corners[1], corners[2], corners[3], corners[0]])
    }
}
