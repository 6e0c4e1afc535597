public import NocturneCore

/// The maximum number of rows and columns that image formats support.
/// A header of absurd spacing must not make a target whose tables of taps alone take gigabytes.
private let maximumAxisLength = 65_535.0

/// The shape of an image after resampling to another spacing, as nnU-Net computes it:
/// `round_half_even((old / new) * count)` along every axis, in float64.
///
/// An axis whose result would be 0 gets 1 voxel instead (nnU-Net continues with an empty array and fails later).
/// - Parameters: spacings in mm along (x, y, z).
/// - Throws: ``NumericsError`` when a spacing is not a positive number or the resulting size is implausible: no axis
///   may have more than 65,535 voxels.
public func targetShape(
    of shape: VolumeShape,
    spacing old: SIMD3<Double>,
    resampledTo new: SIMD3<Double>
) throws(NumericsError) -> VolumeShape {
    var sizes = [0, 0, 0]
    for axis in 0..<3 {
        guard old[axis].isFinite, new[axis].isFinite, old[axis] > 0, new[axis] > 0 else {
            throw .value("a spacing of \(old[axis]) mm cannot be resampled to \(new[axis]) mm")
        }
        let size = ((old[axis] / new[axis]) * Double(shape[axis])).rounded(.toNearestOrEven)
        sizes[axis] = try checkedAxisLength(size, of: shape, spacing: (old[axis], new[axis]), axis: axis)
    }
    guard let result = VolumeShape(validating: sizes[0], y: sizes[1], z: sizes[2]) else {
        throw .shape("resampling \(shape) gives \(sizes[0])×\(sizes[1])×\(sizes[2]) voxels, more than can be handled")
    }
    return result
}

/// The number of voxels along an axis of a resampled grid: `size`, at least 1.
func checkedAxisLength(
    _ size: Double,
    of shape: VolumeShape,
    spacing: (old: Double, new: Double),
    axis: Int
) throws(NumericsError) -> Int {
    guard size <= maximumAxisLength else {
        throw .shape(
            "resampling \(shape) from \(spacing.old) to \(spacing.new) mm along \(["x", "y", "z"][axis]) gives \(size) "
                + "voxels, more than an axis may have"
        )
    }
    return max(Int(size), 1)
}
