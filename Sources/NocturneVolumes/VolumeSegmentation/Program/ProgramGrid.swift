import NocturneConcurrency
import NocturneCore
import NocturneNumerics

/// The grid of a program for one volume, and the ways to it and back.
///
/// The volume is reoriented to the nearest RAS+ grid and resampled to the program's spacing or size. Labels return by the nearest
/// voxel. This is what TotalSegmentator does around nnU-Net.
struct ProgramGrid {
    let shape: VolumeShape
    private let settings: ProgramGridSettings
    private let orientation: AxisOrientation
    private let native: VolumeShape
    private let rule: ResamplingRule
    /// In mm along the axes of the grid, x first.
    private let spacing: SIMD3<Double>
    private let nativeSpacing: SIMD3<Double>

    /// - Throws: ``NumericsError`` for a grid that is too large.
    init(_ settings: ProgramGridSettings, of source: VolumeSource) throws {
        self.settings = settings
        orientation = AxisOrientation(of: source.geometry.affine)
        native = source.geometry.shape
        rule = settings.resampling
        // The lengths of the affine's columns in single precision, as nibabel computes them.
        let own = SIMD3<Double>(SIMD3<Float>(source.geometry.spacing))
        let axes = orientation.source
        let turned = orientation.shape(from: native)
        let ownSpacing = SIMD3(own[axes[0]], own[axes[1]], own[axes[2]])
        nativeSpacing = ownSpacing
        if let size = settings.size, let fixed = VolumeShape(validating: size[2], y: size[1], z: size[0]) {
            shape = fixed
            spacing = SIMD3((0..<3).map { ownSpacing[$0] * Double(turned[$0]) / Double(fixed[$0]) })
        } else {
            spacing = settings.spacing.map { SIMD3($0[2], $0[1], $0[0]) } ?? nativeSpacing
            shape = try targetShape(of: turned, spacing: nativeSpacing, resampledTo: spacing)
        }
    }

    /// The box of the volume, in stored axes, for a box of the volume that is turned as the grid is.
    func stored(_ box: VoxelBox) -> VoxelBox { box.oriented(by: orientation.inverse, in: turned) }

    /// The shape of the volume when it is turned as the grid is.
    var turned: VolumeShape { orientation.shape(from: native) }

    /// Bytes while a channel is resampled, beyond the channel and the result.
    func workingBytes() throws -> Int { try resampler().predictedWorkingBytes }

    private func resampler() throws -> ImageResampler {
        try ImageResampler(
            view: VoxelView(stored: native, orientation: orientation),
            target: shape,
            rule: rule,
            // An image that has the spacing already is not converted.
            truncates: settings.truncates && nativeSpacing != spacing
        )
    }

    /// A source with the geometry and the spacing of the grid.
    func source(of source: VolumeSource) -> VolumeSource {
        var source = source
        let turned = orientation.geometry(from: source.geometry)
        let scale = spacing / nativeSpacing
        source.geometry = VolumeGeometry(
            shape: shape,
            affine: Affine(
                columnI: turned.affine.columnI * scale.x,
                columnJ: turned.affine.columnJ * scale.y,
                columnK: turned.affine.columnK * scale.z,
                translation: turned.affine.translation
            )
        )
        source.spacing = spacing
        return source
    }

    /// The volume on the grid.
    /// - Throws: `AllocationError`, `CancelledError`.
    func volume(of source: VolumeSource, channels: [FrozenVoxels<Float>], scope: ComputeScope) throws -> WorkingVolume {
        let resampler = try resampler()
        return WorkingVolume(
            source: self.source(of: source),
            channels: try channels.map { try resampler.resample($0, scope: scope).frozen() }
        )
    }

    /// Labels of the grid on the volume's own grid, in stored order.
    /// - Throws: `AllocationError`, `CancelledError`.
    func stored(_ labels: FrozenVoxels<UInt16>, scope: ComputeScope) throws -> FrozenVoxels<UInt16> {
        try NearestLabels(source: shape, stored: native, orientation: orientation, rule: rule)
            .stored(labels, scope: scope).frozen()
    }
}
