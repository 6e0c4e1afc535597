/// How intensities of a channel are mapped to the range that a network was trained on, in float32: schemes of nnU-Net, brainchop
/// and MONAI.
public enum Normalization: Hashable, Sendable {
    /// Values stay as they are.
    case none
    /// Clamped to `lower`...`upper`, minus `mean`, divided by max(`deviation`, 1e-8): statistics of the training set.
    case ct(lower: Float, upper: Float, mean: Float, deviation: Float)
    /// Minus the mean of this image, divided by its standard deviation. With `usesMask`, both are computed over the voxels that
    /// are not 0 in all channels, and the other voxels stay unchanged.
    case zScore(usesMask: Bool = false)
    /// The same over the voxels of this image that are not 0; zeros stay 0. Without any deviation, values are not divided.
    case zScoreOfNonzero
    /// Minus `mean`, divided by `deviation`, which is not 0.
    case linear(mean: Float, deviation: Float)
    /// Minus the smallest value of this image, divided by the largest value after that subtraction.
    case rescale01
    /// The smallest value of this image becomes `lower`, the largest `upper`, and the others lie between in proportion.
    case rescale(lower: Float, upper: Float)
    /// Divided by 255. Values outside 0 to 255 are refused.
    case rgb01
    /// Minus a low quantile of this image, divided by the distance of a high one from it. Of n values in ascending order these are
    /// the ones at floor(n · lower) and ceil(n · upper) − 1, as brainchop takes them. With `countsPadding`, the voxels by which
    /// the volume is enlarged to the patch count as voxels of its lowest value. With `clips`, values are first clamped to the
    /// quantiles.
    case quantiles(lower: Double, upper: Double, countsPadding: Bool = false, clips: Bool = false)
}
