public import NocturneCore

/// How the colours of a picture become the values of a network's input: (sample / 255 − mean) / deviation.
///
/// `Tools/lib/nocturne_tools/photo_reference.py` implements the same in Python.
public struct NetworkColors: Hashable, Sendable {
    /// The order of the network's channels.
    public enum Order: String, Hashable, Sendable, CaseIterable {
        /// Red, green, blue.
        case rgb
        /// Blue, green, red, as OpenCV reads pictures.
        case bgr
    }

    /// Of red, green and blue in 0...1.
    public let mean: [Double]
    /// Of red, green and blue in 0...1, above 0.
    public let deviation: [Double]
    /// The order of the channels.
    public let order: Order

    /// - Parameters:
    ///   - mean: of red, green and blue.
    ///   - deviation: of red, green and blue, above 0.
    public init(mean: [Double], deviation: [Double], order: Order = .rgb) {
        self.mean = mean
        self.deviation = deviation
        self.order = order
    }

    /// Planes of the colours, one after the other: rows from the top, pixels from the left; 0 outside the picture.
    /// - Parameters:
    ///   - gains: by which red, green and blue are multiplied first; see ``ShadesOfGray``.
    ///   - origin: where the picture's upper left corner lies in the input.
    ///   - width: of the input; the picture lies in it.
    ///   - height: of the input.
    public func planes(
        of image: RGBImage,
        gains: SIMD3<Double> = SIMD3(repeating: 1),
        at origin: (x: Int, y: Int) = (0, 0),
        width: Int,
        height: Int
    ) -> [Float] {
        let plane = width * height
        var values = [Float](repeating: 0, count: 3 * plane)
        for channel in 0..<3 {
            let color = order == .rgb ? channel : 2 - channel
            let table = (0..<256).map { sample in
                let level = min(max(Double(sample) * gains[color], 0), 255)
                return Float((level / 255 - mean[color]) / deviation[color])
            }
            for y in 0..<image.height {
                let source = y * image.width * 3 + color
                let target = channel * plane + origin.x + (origin.y + y) * width
                for x in 0..<image.width { values[target + x] = table[Int(image.samples[source + 3 * x])] }
            }
        }
        return values
    }
}
