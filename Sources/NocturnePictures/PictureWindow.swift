/// The range of intensities that is drawn from black to white.
public enum PictureWindow: Hashable, Sendable {
    case fixed(lower: Float, upper: Float)
    /// From the 0.5 to the 99.5 percentile of the three slices (from an even selection of about 4,000 of their voxels).
    case percentiles

    /// A window by its centre and width, as stated in model packages: nil where a number is not finite, or the width not above 0.
    public init?(center: Double, width: Double) {
        self.init(lower: center - width / 2, upper: center + width / 2)
    }

    /// A window by its ends, as stated in NIfTI headers (`cal_min`, `cal_max`): nil if they are equal (both are 0 when
    /// not set), reversed, or not finite in single precision.
    public init?(lower: Double, upper: Double) {
        let (lower, upper) = (Float(lower), Float(upper))
        guard lower.isFinite, upper.isFinite, lower < upper else { return nil }
        self = .fixed(lower: lower, upper: upper)
    }
}

/// A window prepared for drawing.
struct GreyScale: Sendable {
    let lower: Double
    let upper: Double
    private let scale: Double

    init(lower: Double, upper: Double) {
        self.lower = lower
        self.upper = upper
        scale = upper > lower ? 255 / (upper - lower) : 0
    }

    /// - Parameter sampled: the voxels from which percentiles are computed; not evaluated where the window is fixed.
    init(_ window: PictureWindow, over sampled: @autoclosure () -> [Float]) {
        switch window {
        case .fixed(let lower, let upper): self.init(lower: Double(lower), upper: Double(upper))
        case .percentiles:
            let sorted = sampled().sorted()
            guard let last = sorted.indices.last else {
                self.init(lower: 0, upper: 1)
                return
            }
            let cut = Int((Double(last) * 0.005).rounded())
            self.init(lower: Double(sorted[cut]), upper: Double(sorted[last - cut]))
        }
    }

    /// NaN is drawn black.
    func grey(_ value: Float) -> UInt8 {
        let grey = (Double(value) - lower) * scale
        return grey > 0 ? UInt8(min(grey, 255).rounded()) : 0
    }
}
