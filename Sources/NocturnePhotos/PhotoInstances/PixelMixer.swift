/// Interpolates between the pixels of a crop.
///
/// Written without calls of `round` and `floor`, which take longer than the interpolation itself.
struct PixelMixer {
    private let source: UnsafeBufferPointer<UInt8>
    private let opacity: UnsafeBufferPointer<UInt8>
    private let width: Int
    private let height: Int

    /// - Parameters:
    ///   - source: red, green and blue of each pixel.
    ///   - opacity: 0 outside the mask.
    init(_ source: UnsafeBufferPointer<UInt8>, _ opacity: UnsafeBufferPointer<UInt8>, _ width: Int, _ height: Int) {
        self.source = source
        self.opacity = opacity
        self.width = width
        self.height = height
    }

    /// Writes the mean of the four pixels around a position, weighted by distance, as pixel `to` of `target`. Pixels
    /// outside the mask are replaced by the nearest one inside, so that no black blends in.
    /// - Parameter place: pixel centres are whole numbers.
    /// - Returns: whether the nearest pixel is in the mask; otherwise nothing is written.
    @inline(__always)
    func mix(at place: SIMD2<Double>, _ target: UnsafeMutableBufferPointer<UInt8>, _ to: Int) -> Bool {
        guard place.x > -0.5, place.y > -0.5, place.x < Double(width), place.y < Double(height) else { return false }
        let (nearestX, nearestY) = (Int(place.x + 0.5), Int(place.y + 0.5))
        guard nearestX < width, nearestY < height else { return false }
        let own = nearestY * width + nearestX
        guard opacity[own] != 0 else { return false }
        // Positions are above -0.5, so the sums are positive and truncation rounds down.
        let (x, y) = (Int(place.x + 1) - 1, Int(place.y + 1) - 1)
        let (right, below) = (Float(place.x - Double(x)), Float(place.y - Double(y)))
        let first = y * width + x
        var (a, b, c, d) = (first, first + 1, first + width, first + width + 1)
        if x < 0 || y < 0 || x + 1 >= width || y + 1 >= height {
            let (isLeft, isRight) = (x >= 0, x + 1 < width)
            let (isAbove, isBelow) = (y >= 0, y + 1 < height)
            a = isLeft && isAbove && opacity[a] != 0 ? a : own
            b = isRight && isAbove && opacity[b] != 0 ? b : own
            c = isLeft && isBelow && opacity[c] != 0 ? c : own
            d = isRight && isBelow && opacity[d] != 0 ? d : own
        } else {
            a = opacity[a] != 0 ? a : own
            b = opacity[b] != 0 ? b : own
            c = opacity[c] != 0 ? c : own
            d = opacity[d] != 0 ? d : own
        }
        let above = color(a) * (1 - right) + color(b) * right
        let under = color(c) * (1 - right) + color(d) * right
        let mixed = above * (1 - below) + under * below + 0.5
        target[3 * to] = UInt8(mixed.x)
        target[3 * to + 1] = UInt8(mixed.y)
        target[3 * to + 2] = UInt8(mixed.z)
        return true
    }

    @inline(__always)
    private func color(_ place: Int) -> SIMD4<Float> {
        SIMD4(Float(source[3 * place]), Float(source[3 * place + 1]), Float(source[3 * place + 2]), 0)
    }
}
