/// A colour image of 8 bits per sample: for viewing, not for measurement.
public struct RGBImage: Hashable, Sendable {
    /// In pixels, 0 or more.
    public let width: Int
    /// In pixels, 0 or more.
    public let height: Int
    /// Red, green, blue of each pixel; rows from the top, pixels from the left.
    public var samples: [UInt8]

    /// A black image: 3 bytes per pixel.
    public init(width: Int, height: Int) {
        precondition(width >= 0 && height >= 0, "an image cannot have a negative size")
        self.width = width
        self.height = height
        samples = [UInt8](repeating: 0, count: width * height * 3)
    }

    /// The red, green and blue of the pixel in column `x`, row `y` (from the top left).
    public subscript(x: Int, y: Int) -> SIMD3<UInt8> {
        get {
            let place = place(x, y)
            return SIMD3(samples[place], samples[place + 1], samples[place + 2])
        }
        set {
            let place = place(x, y)
            samples[place] = newValue.x
            samples[place + 1] = newValue.y
            samples[place + 2] = newValue.z
        }
    }

    private func place(_ x: Int, _ y: Int) -> Int {
        precondition(x >= 0 && x < width && y >= 0 && y < height, "pixel out of range")
        return (x + width * y) * 3
    }
}
