import NocturneCore

/// The order in which a person reads the lines of a text.
public enum LineOrder {
    /// The indices of the lines in the order in which they are read: as ``ReadingOrder`` has it, with the picture turned so that
    /// most of the text runs to the right.
    /// - Parameter lines: four corners each, from the one where the line begins above on clockwise as it is read. Lines run to the
    ///   right or down.
    public static func order(of lines: [[SIMD2<Double>]]) -> [Int] {
        let along = lines.reduce(SIMD2<Double>.zero) { $0 + ($1[1] - $1[0]) }
        let runsDown = along.y > abs(along.x)
        let boxes = lines.map { corners in
            let points = runsDown ? corners.map { SIMD2($0.y, -$0.x) } : corners
            let low = points.reduce(SIMD2<Double>(repeating: .infinity), pointwiseMin).rounded(.down)
            let high = points.reduce(SIMD2<Double>(repeating: -.infinity), pointwiseMax).rounded(.up)
            return PixelBox(
                x: Int(low.x),
                y: Int(low.y),
                width: Int(high.x - low.x) + 1,
                height: Int(high.y - low.y) + 1
            )
        }
        return ReadingOrder(boxes).order
    }
}
