import NocturneCore
import NocturneInference

/// How the colours of a picture become the values of a network's input.
package struct NetworkColors: Hashable, Sendable {
    /// The order of the network's channels.
    package enum Order: String, Hashable, Sendable {
        /// Red, green, blue.
        case rgb
        /// Blue, green, red, as OpenCV reads pictures.
        case bgr
    }

    /// Of red, green and blue in 0...1.
    package var mean: [Double]
    /// Of red, green and blue in 0...1, at least 1e-6.
    package var deviation: [Double]
    /// The order of the channels.
    package var order = Order.rgb
}

extension NetworkColors {
    /// Planes of the colours, minus the mean and divided by the standard deviation; 0 outside the picture.
    /// - Parameters:
    ///   - origin: where the picture's upper left corner lies in the input.
    ///   - width: of the input; the picture lies in it.
    ///   - height: of the input.
    func tensor(of image: RGBImage, at origin: (x: Int, y: Int) = (0, 0), width: Int, height: Int) -> Tensor {
        let plane = width * height
        var values = [Float](repeating: 0, count: 3 * plane)
        for channel in 0..<3 {
            let color = order == .rgb ? channel : 2 - channel
            let table = (0..<256).map { Float((Double($0) / 255 - mean[color]) / deviation[color]) }
            for y in 0..<image.height {
                let source = y * image.width * 3 + color
                let target = channel * plane + origin.x + (origin.y + y) * width
                for x in 0..<image.width { values[target + x] = table[Int(image.samples[source + 3 * x])] }
            }
        }
        return Tensor(shape: [1, 3, height, width], values: values)
    }
}
