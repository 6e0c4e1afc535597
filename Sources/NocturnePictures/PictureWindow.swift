/// The range of intensities that is drawn from black to white.
public enum PictureWindow: Hashable, Sendable {
    case fixed(lower: Float, upper: Float)
    /// From the 0.5 to the 99.5 percentile of the three slices (from an even selection of about 4,000 of their voxels).
    case percentiles

    /// A window as stated in DICOM headers: the linear function (PS3.3, C.11.2.1.2.1), where values of a range of
    /// `width` starting at `center - width / 2` become grey.
    ///
    /// nil where either number is not finite or the width is below 1: such a window is invalid.
    public init?(center: Double, width: Double) {
        guard center.isFinite, width.isFinite, width >= 1 else { return nil }
        // A width of 1 is a threshold: use the narrowest ramp that still is one.
        let half = max((width - 1) / 2, 1e-3)
        self.init(lower: center - 0.5 - half, upper: center - 0.5 + half)
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
