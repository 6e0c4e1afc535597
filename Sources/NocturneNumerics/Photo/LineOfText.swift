public import NocturneCore

/// Single lines of text in a picture.
public enum LineOfText {
    /// The part of a picture within four corners, and the corners in the order in which it is read: top left first, clockwise. A
    /// part that is at least one and a half times as high as wide is turned counterclockwise, as PaddleOCR does it.
    /// - Parameter corners: top left, top right, bottom right, bottom left; centres of pixels are whole numbers.
    /// - Returns: nil for less than 4 pixels on a side.
    public static func cut(
        _ corners: [SIMD2<Double>],
        from image: RGBImage
    ) -> (image: RGBImage, corners: [SIMD2<Double>])? {
        func length(_ first: Int, _ second: Int) -> Double {
            let side = corners[second] - corners[first]
            return (side * side).sum().squareRoot()
        }
        let width = Int(max(length(0, 1), length(3, 2)))
        let height = Int(max(length(0, 3), length(1, 2)))
        guard min(length(0, 1), length(0, 3)) >= 4, width > 0, height > 0 else { return nil }
        var line = RGBImage(width: width, height: height)
        var alpha = [UInt8](repeating: 0, count: width * height)
        MaskedSampling.sample(
            image,
            opacity: [UInt8](repeating: 255, count: image.width * image.height),
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
