/// A feature of the reference manual without its value.
public struct FeatureDescription: Hashable, Sendable {
    /// As in the standard's tables of reference values, without the aggregation.
    public let name: String
    /// The four letters and digits by which the manual identifies the feature.
    public let code: String
    /// The manual's heading.
    public let title: String
}

/// A feature, and how its value is taken from what a family measures.
struct FeatureDefinition<Measures>: Sendable {
    let description: FeatureDescription
    let value: @Sendable (Measures) -> Double

    init(_ name: String, _ code: String, _ title: String, _ value: @escaping @Sendable (Measures) -> Double) {
        description = FeatureDescription(name: name, code: code, title: title)
        self.value = value
    }
}

/// Why a feature has no value.
public enum FeatureAbsence: String, Error, Hashable, Sendable, CaseIterable {
    /// The formula divides by zero, as for a ratio of axes of a single voxel.
    case undefined
    /// No voxel is left after interpolation and re-segmentation.
    case noVoxels = "no-voxels"
    /// An intensity of the region is NaN or infinite.
    case notFinite = "not-finite"
    /// Textures without discretisation need integers from 1.
    case notIntegers = "not-integers"
    /// The region has more grey levels than texture matrices are made for.
    case tooManyLevels = "too-many-levels"
    /// The intensity-volume histogram would have too many bins.
    case tooManyBins = "too-many-bins"
    /// The region has too many voxels on the new grid.
    case tooLarge = "too-large"
}
