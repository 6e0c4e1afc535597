internal import CPhotoKernels
public import NocturneCore

/// Samples a picture with a mask along lines, at any angle.
public enum MaskedSampling {
    /// Where the pixels of a picture are sampled: that in column x of row y at ``start`` + x · ``across`` + y · ``down``, in
    /// pixels of the source, whose centres are whole numbers.
    public struct Grid: Sendable {
        let start: SIMD2<Double>
        let across: SIMD2<Double>
        let down: SIMD2<Double>

        /// - Parameters:
        ///   - start: the position of the first pixel of the first row.
        ///   - across: from one column to the next; shorter than 1 enlarges the picture.
        ///   - down: from one row to the next.
        public init(start: SIMD2<Double>, across: SIMD2<Double>, down: SIMD2<Double>) {
            self.start = start
            self.across = across
            self.down = down
        }
    }

    /// Samples a rectangle of `target`'s size.
    ///
    /// Each value is the mean of the four pixels around its position, weighted by distance; those outside the mask are
    /// replaced by the nearest pixel, so that nothing from outside blends in. Where the nearest pixel is outside, the target
    /// stays black and its opacity 0; elsewhere it becomes 255. Takes about 5 ns per pixel.
    /// - Parameters:
    ///   - opacity: one for each pixel of `source`, 0 outside the mask.
    ///   - alpha: one for each pixel of `target`.
    public static func sample(
        _ source: RGBImage,
        opacity: [UInt8],
        at grid: Grid,
        into target: inout RGBImage,
        alpha: inout [UInt8]
    ) {
        precondition(opacity.count == source.width * source.height, "an opacity for each pixel")
        precondition(alpha.count == target.width * target.height, "an opacity for each pixel")
        let (width, height) = (target.width, target.height)
        source.samples.withUnsafeBufferPointer { pixels in
            opacity.withUnsafeBufferPointer { opacity in
                target.samples.withUnsafeMutableBufferPointer { out in
                    alpha.withUnsafeMutableBufferPointer { alpha in
                        guard let pixels = pixels.baseAddress, let opacity = opacity.baseAddress,
                            let out = out.baseAddress, let alpha = alpha.baseAddress
                        else { return }
                        var masked = photo_masked(
                            pixels: pixels,
                            opacity: opacity,
                            width: source.width,
                            height: source.height
                        )
                        for y in 0..<height {
                            let row = grid.start + grid.down * Double(y)
                            let first = y * width
                            // Each row is computed from the grid, not from the row before it: rounding does not add up.
                            let line = photo_line(
                                x: row.x,
                                y: row.y,
                                dx: grid.across.x,
                                dy: grid.across.y,
                                count: width
                            )
                            photo_sample_line(&masked, line, out + 3 * first, alpha + first)
                        }
                    }
                }
            }
        }
    }
}
