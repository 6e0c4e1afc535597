package import NocturneCore
import NocturneFormats

/// The map over the picture, in colours that are distinguishable with colour blindness and whose lightness increases with
/// the value, so that a greyscale print reads the same.
extension AttentionMap {
    /// The picture, covered in proportion to the map's value.
    package func overlay(on picture: RGBImage) -> RGBImage {
        guard !isUniform, picture.width == picture.height else { return picture }
        var result = picture
        for (index, value) in enlarged(to: picture.width).enumerated() {
            // Where the map is 0 the picture stays unchanged.
            let cover = min(0.7, value * 1.2)
            let color = Self.color(value)
            for channel in 0..<3 {
                let place = 3 * index + channel
                let mixed = Float(picture.samples[place]) * (1 - cover) + color[channel] * cover
                result.samples[place] = UInt8(mixed.rounded())
            }
        }
        return result
    }

    /// `heatmap.png`: an overlay with a colour bar on its right, 0 at the bottom and 1 at the top.
    package static func heatmap(_ overlay: RGBImage) -> RGBImage {
        let side = overlay.width
        var result = RGBImage(width: side + barSpace, height: side)
        for place in result.samples.indices { result.samples[place] = 255 }
        for y in 0..<side {
            let from = 3 * y * side
            let to = 3 * y * result.width
            result.samples.replaceSubrange(to..<to + 3 * side, with: overlay.samples[from..<from + 3 * side])
            let value = 1 - (Float(y) + 0.5) / Float(side)
            for x in side + 8..<side + 24 { result[x, y] = bytes(value) }
        }
        let text = PictureText(width: 15, size: 15)
        text.draw("1", in: &result, x: side + 29, y: 15, color: .zero)
        text.draw("0", in: &result, x: side + 29, y: side - 4, color: .zero)
        return result
    }

    /// Width of the space to the right of the picture, in pixels.
    package static let barSpace = 44

    /// The colour of a value in 0...1: Matplotlib's viridis in nine steps, linear between them.
    package static func color(_ value: Float) -> SIMD3<Float> {
        let exact = min(max(value, 0), 1) * Float(table.count - 1)
        let first = min(Int(exact), table.count - 2)
        return table[first] + (table[first + 1] - table[first]) * (exact - Float(first))
    }

    private static func bytes(_ value: Float) -> SIMD3<UInt8> {
        let color = color(value)
        return SIMD3(UInt8(color.x.rounded()), UInt8(color.y.rounded()), UInt8(color.z.rounded()))
    }

    /// From 0 to 1, red, green and blue from 0 to 255.
    private static let table: [SIMD3<Float>] = [
        SIMD3(68, 1, 84), SIMD3(71, 44, 122), SIMD3(59, 81, 139), SIMD3(44, 113, 142), SIMD3(33, 144, 141),
        SIMD3(39, 173, 129), SIMD3(92, 200, 99), SIMD3(170, 220, 50), SIMD3(253, 231, 37),
    ]
}
