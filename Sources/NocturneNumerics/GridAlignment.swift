public import NocturneCore

/// Where the voxels of a resampled grid lie in the grid that it was made from: voxel k at position `start + step * k`,
/// along each of its axes (0 = x).
public struct GridAlignment: Hashable, Sendable {
    /// The position of voxel (0, 0, 0), in voxels of the other grid.
    public var start: SIMD3<Double>
    /// Above 0.
    public var step: SIMD3<Double>

    /// By default the identity.
    public init(start: SIMD3<Double> = .zero, step: SIMD3<Double> = SIMD3(repeating: 1)) {
        self.start = start
        self.step = step
    }

    /// Whether the voxels of both grids coincide.
    public var isIdentity: Bool { start == .zero && step == SIMD3(repeating: 1) }

    /// Where the voxels of the first grid lie in the resampled one.
    public var inverse: GridAlignment { GridAlignment(start: -start / step, step: SIMD3(repeating: 1) / step) }

    /// The same for both grids rearranged.
    /// - Parameters:
    ///   - shape: of the grid that is resampled, before it is rearranged.
    ///   - target: of the resampled grid, before it is rearranged.
    public func oriented(by orientation: AxisOrientation, from shape: VolumeShape, to target: VolumeShape)
        -> GridAlignment
    {
        var result = GridAlignment()
        for (axis, source) in orientation.source.enumerated() {
            let last = start[source] + step[source] * Double(target[source] - 1)
            result.step[axis] = step[source]
            result.start[axis] = orientation.reversed[axis] ? Double(shape[source] - 1) - last : start[source]
        }
        return result
    }
}

/// The grid that MONAI's `Spacing` makes of a volume, with its defaults.
///
/// The centres of the first voxels coincide and the last one is at most half a voxel beyond the volume. Where the axes are
/// not at right angles, if only by the rounding of an oblique header, MONAI sometimes aligns the centres of both grids
/// instead, as here. MONAI also removes the shear then; here the axes keep their directions, which moves voxels of an
/// oblique grid by some 10⁻⁵ of a voxel, and those of a gantry tilt by what the tilt amounts to.
public struct MONAIGrid: Hashable, Sendable {
    /// The number of voxels of the new grid.
    public let shape: VolumeShape
    /// From the new grid to the old one.
    public let alignment: GridAlignment

    /// Spacings that differ by less, in mm, and positions that differ by less, in voxels, count as equal.
    private static let tolerance = 1e-3

    /// - Parameters:
    ///   - shape, affine: of the volume after reorientation.
    ///   - spacing: wanted, in mm along (x, y, z); each above 0.
    /// - Throws: ``NumericsError`` for axes that are not independent, and for grids that are too large.
    public init(of shape: VolumeShape, affine: Affine, spacing: SIMD3<Double>) throws(NumericsError) {
        let (upper, origin) = try Self.factored(affine)
        let diagonal = SIMD3(upper[0][0], upper[1][1], upper[2][2])
        var wanted = spacing
        for axis in 0..<3 {
            let column = affine.column(axis)
            let own = length(column)
            if abs(own - spacing[axis]) <= Self.tolerance { wanted[axis] = own }
        }
        // The corners of the volume in the axes of the new grid.
        var (low, high) = (SIMD3(repeating: Double.infinity), SIMD3(repeating: -Double.infinity))
        for corner in 0..<8 {
            let place = Self.place(ofCorner: corner, of: shape, upper, origin, wanted)
            low = pointwiseMin(low, place)
            high = pointwiseMax(high, place)
        }
        var sizes = [0, 0, 0]
        for axis in 0..<3 {
            let size = (high[axis] - low[axis] + 1).rounded(.toNearestOrEven)
            sizes[axis] = try checkedAxisLength(size, of: shape, spacing: (diagonal[axis], wanted[axis]), axis: axis)
        }
        guard let target = VolumeShape(validating: sizes[0], y: sizes[1], z: sizes[2]) else {
            throw .shape(
                "resampling \(shape) gives \(sizes[0])×\(sizes[1])×\(sizes[2]) voxels, more than can be handled"
            )
        }
        let step = wanted / diagonal
        let first = Self.place(ofCorner: 0, of: shape, upper, origin, wanted)
        var start = SIMD3<Double>.zero
        if (low - first).min() < -1e-8 {
            // The first corner is not the lowest one in all axes.
            for axis in 0..<3 { start[axis] = Double(shape[axis]) / 2 - step[axis] * Double(target[axis]) / 2 }
        }
        let isSame =
            target == shape
            && (0..<3).allSatisfy { abs(step[$0] - 1) <= Self.tolerance && abs(start[$0]) <= Self.tolerance }
        self.shape = target
        alignment = isSame ? GridAlignment() : GridAlignment(start: start, step: step)
    }

    /// The columns of the affine as a rotation times an upper triangular matrix, and the origin in the rotated axes.
    private static func factored(_ affine: Affine) throws(NumericsError) -> ([SIMD3<Double>], SIMD3<Double>) {
        var directions: [SIMD3<Double>] = []
        var upper = [SIMD3<Double>](repeating: .zero, count: 3)
        for axis in 0..<3 {
            var rest = affine.column(axis)
            for (row, direction) in directions.enumerated() {
                upper[row][axis] = (direction * affine.column(axis)).sum()
                rest -= direction * upper[row][axis]
            }
            let length = NocturneCore.length(rest)
            guard length.isFinite, length > 1e-6 else {
                throw .value("the axes of the volume are not independent, so it cannot be resampled")
            }
            upper[axis][axis] = length
            directions.append(rest / length)
        }
        let origin = directions.map { ($0 * affine.translation).sum() }
        return (upper, SIMD3(origin[0], origin[1], origin[2]))
    }

    /// A corner voxel (bit a: the last one along axis a) in voxels of the new grid.
    private static func place(
        ofCorner corner: Int,
        of shape: VolumeShape,
        _ upper: [SIMD3<Double>],
        _ origin: SIMD3<Double>,
        _ spacing: SIMD3<Double>
    ) -> SIMD3<Double> {
        var place = SIMD3<Double>.zero
        for row in 0..<3 {
            for axis in 0..<3 where corner >> axis & 1 == 1 {
                place[row] += upper[row][axis] / spacing[row] * Double(shape[axis] - 1)
            }
            // MONAI rounds the sum too, which decides where a size is half-way between two numbers.
            place[row] += origin[row] / spacing[row]
        }
        return place
    }
}

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
