public import NocturneCore

extension LabelMeasurement {
    /// Whether a structure is completely inside the volume.
    public enum Status: String, Hashable, Sendable, Codable, CaseIterable {
        case complete
        /// A voxel is in the outermost layer: part of the structure may be outside.
        case touchesBorder
        /// No voxel has the label. A volume of 0 then means "not found", not "nothing there".
        case absent
    }
}

/// The image intensities inside a label, in the image's unit (Hounsfield units for CT).
public struct IntensitySummary: Hashable, Sendable, Codable {
    /// The mean of the finite values.
    public var mean: Double
    /// Population standard deviation: divided by the number of voxels.
    public var standardDeviation: Double
    /// The smallest value.
    public var minimum: Double
    /// The largest value.
    public var maximum: Double
    /// The middle value, or the mean of the two middle ones.
    public var median: Double
    /// The values in bins of equal width.
    public var histogram: IntensityHistogram
}

extension IntensitySummary {
    init?(_ tally: Tally, _ found: IntensityDistribution.Found?) {
        guard tally.count > 0, let found else { return nil }
        self.init(
            mean: tally.mean,
            standardDeviation: (tally.squares / Double(tally.count)).squareRoot(),
            minimum: tally.minimum,
            maximum: tally.maximum,
            median: found.quantiles[0],
            histogram: found.histogram
        )
    }
}

/// The size, position and intensity of one label.
public struct LabelMeasurement: Hashable, Sendable, Codable {
    /// The label.
    public var value: UInt16
    /// The number of its voxels.
    public var voxelCount: Int
    /// Voxels times the volume of a voxel.
    public var volumeMm3: Double
    /// ``volumeMm3`` in ml.
    public var volumeMl: Double { volumeMm3 / 1000 }
    /// Nil without an image, and when the label has no voxel of finite intensity.
    public var intensity: IntensitySummary?
    /// The mean of the voxel centres in RAS+ mm; nil when absent.
    public var centroid: SIMD3<Double>?
    /// In voxel indices, with an exclusive upper end; nil when absent.
    public var boundingBox: VoxelBox?
    /// Whether the structure is completely inside the volume.
    public var status: Status
    /// The number of connected components, and the share of the voxels that the largest one has; nil when they were not
    /// counted, and no share when absent.
    public var components: Int?
    /// The share of the voxels that the largest component has, above 0 and at most 1.
    public var largestComponentShare: Double?

    /// Whether the structure may continue outside of the volume, so that size and surface are lower bounds.
    public var touchesBorder: Bool { status == .touchesBorder }
}
