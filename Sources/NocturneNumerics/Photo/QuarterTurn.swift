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
