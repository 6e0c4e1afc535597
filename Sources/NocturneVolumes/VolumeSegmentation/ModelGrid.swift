import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneRecipeSupport

/// The grid of a level's networks, and its transformation from and to the volume.
struct ModelGrid {
    /// From the stored axes to the networks' axes: reoriented to RAS or not, then transposed.
    let orientation: AxisOrientation
    /// The volume's own grid in the networks' axis order: labels are made on it.
    let native: VolumeShape
    /// The part of ``native`` that is resampled.
    let box: VoxelBox
    let shape: VolumeShape
    let image: ResamplingRule
    let logits: ResamplingRule
    let labels: ResamplingRule
    /// In mm along the networks' axes, x first: of the volume, and of the networks.
    let nativeSpacing: SIMD3<Double>
    let spacing: SIMD3<Double>

    /// - Parameter nonzero: finds the box to crop to; called only if the package crops. For planning, without voxels,
    ///   it returns nil: the whole grid, the upper bound.
    init(source: VolumeSource, level: CascadeLevel, nonzero: (AxisOrientation) throws -> VoxelBox?) throws {
        let turned = level.orientation == .stored ? .stored : AxisOrientation(of: source.geometry.affine)
        orientation = AxisOrientation(transposing: level.transpose).map(turned.followed) ?? turned
        native = orientation.shape(from: source.geometry.shape)
        let whole = VoxelBox(all: native)
        box = level.cropToNonzero ? try nonzero(orientation) ?? whole : whole
        let stored =
            level.imageResampling.method == .monai
            ? source.geometry.spacing : source.spacing(turned: turned, as: level.orientation)
        let axes = orientation.source
        let own = SIMD3(stored[axes[0]], stored[axes[1]], stored[axes[2]])
        let wanted = (0..<3).map { axis in level.spacing.flatMap { $0[2 - axis] } ?? own[axis] }
        nativeSpacing = own
        spacing = SIMD3(wanted[0], wanted[1], wanted[2])
        var (image, logits) = (ResamplingRule(level.imageResampling), ResamplingRule(level.logitsResampling))
        labels = ResamplingRule(level.labelsResampling)
        switch image.method {
        case .none: shape = box.shape
        case .monai:
            let grid = try Self.monaiGrid(
                turned.geometry(from: source.geometry),
                transposed: AxisOrientation(transposing: level.transpose) ?? .stored,
                box,
                spacing: spacing
            )
            shape = grid.shape
            image.alignment = grid.alignment
            logits.alignment = grid.alignment.inverse
        case .spline, .torch, .zoom:
            shape = try targetShape(of: box.shape, spacing: own, resampledTo: spacing)
        }
        self.image = image
        self.logits = logits
    }

    /// MONAI's grid for a box, which depends on the order of the axes before they are transposed.
    /// - Parameters:
    ///   - box, spacing: along the networks' axes.
    ///   - transpose: from the axes of `geometry` to the networks'.
    private static func monaiGrid(
        _ geometry: VolumeGeometry,
        transposed transpose: AxisOrientation,
        _ box: VoxelBox,
        spacing: SIMD3<Double>
    ) throws -> (shape: VolumeShape, alignment: GridAlignment) {
        var (lower, size, wanted) = (SIMD3(0, 0, 0), SIMD3(0, 0, 0), SIMD3(0.0, 0, 0))
        for (axis, source) in transpose.source.enumerated() {
            lower[source] = box.lower[axis]
            size[source] = box.shape[axis]
            wanted[source] = spacing[axis]
        }
        let part = geometry.cropped(to: VoxelBox(lower: lower, upper: lower &+ size))
        let grid = try MONAIGrid(of: part.shape, affine: part.affine, spacing: wanted)
        return (transpose.shape(from: grid.shape), grid.alignment.permuted(transpose.source))
    }

    /// Whether nothing is resampled.
    var isNative: Bool { shape == box.shape && (image.alignment?.isIdentity ?? true) }

    func tiles(_ level: LevelModel, _ options: SegmentationOptions) throws -> TilePlan {
        try TilePlan(
            imageShape: GridZYX(shape),
            patch: level.patch,
            step: level.tileStep(options),
            rule: level.settings.tiling.rule
        )
    }
}

extension VolumeSource {
    /// The spacing in mm along i, j and k by which nnU-Net's reader determines the size of the resampled grid.
    ///
    /// nibabel writes a new header for a volume that it turns, with the lengths of the affine's columns in single
    /// precision. Of an oblique volume they often differ from the header's own field in the last bit, which decides
    /// where the new size lies half-way between two numbers.
    fileprivate func spacing(turned: AxisOrientation, as orientation: CascadeLevel.Orientation) -> SIMD3<Double> {
        guard orientation == .ras, format == .nifti, !turned.changesNothing else { return spacing }
        return SIMD3<Double>(SIMD3<Float>(geometry.spacing))
    }
}

extension ResamplingRule {
    /// The package's settings as the numerics module's type.
    init(_ settings: ResamplingSettings) {
        let method: ResamplingRule.Method =
            switch settings.method {
            case .spline: .spline
            case .torch: .torch
            case .none: .none
            case .zoom: .zoom
            case .monai: .monai
            }
        let separation: ResamplingRule.Separation =
            switch settings.separateZ {
            case .auto: .auto
            case .always: .always
            case .never: .never
            }
        self.init(
            method: method,
            order: ResamplingOrder(rawValue: settings.order) ?? .linear,
            orderZ: ResamplingOrder(rawValue: settings.orderZ) ?? .nearest,
            separateZ: settings.method == .monai ? .never : separation,
            anisotropyThreshold: settings.anisotropyThreshold
        )
    }
}
