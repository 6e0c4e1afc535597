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
