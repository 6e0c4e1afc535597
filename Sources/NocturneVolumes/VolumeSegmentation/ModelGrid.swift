import NocturneCore
import NocturneInference
import NocturneNumerics

/// The grid of a level's networks, and its transformation from and to the volume.
struct ModelGrid {
    /// From the stored axes to the networks' axes: reoriented to RAS or not, then transposed.
    let orientation: AxisOrientation
    /// The volume's own grid in the networks' axis order: labels are made on it.
    let native: VolumeShape
    /// The part of ``native`` that is resampled.
    let box: VoxelBox
    /// Of the networks' grid, x first, before it is cropped to ``window``.
    let shape: VolumeShape
    /// What the networks see: all of the grid unless the normalized image is cropped. Beyond it logits are 0. It goes beyond the
    /// grid where a margin is padded.
    var window: VoxelBox
    /// From ``box`` to the networks' grid.
    let image: ResamplingRule
    /// From the networks' grid back to ``box``.
    let logits: ResamplingRule
    /// For the labels of the previous level, from ``box`` to the networks' grid.
    let labels: ResamplingRule
    /// In mm along the networks' axes, x first: of the volume, and of the networks.
    let nativeSpacing: SIMD3<Double>
    let spacing: SIMD3<Double>

    /// - Parameter foreground: finds the box to crop to; called only if the package crops. For planning, without voxels,
    ///   it returns nil: the whole grid, the upper bound.
    init(source: VolumeSource, level: CascadeLevel, foreground: (AxisOrientation) throws -> VoxelBox?) throws {
        let turned = level.orientation.axes(of: source.geometry.affine)
        let transpose = AxisOrientation(transposing: level.transpose) ?? .stored
        orientation = turned.followed(by: transpose)
        native = orientation.shape(from: source.geometry.shape)
        let stored =
            level.imageResampling.method == .monai
            ? source.geometry.spacing : source.spacing(turned: turned, as: level.orientation)
        let axes = orientation.source
        let own = SIMD3(stored[axes[0]], stored[axes[1]], stored[axes[2]])
        let found = try level.crop?.isOfNormalizedImage == false ? foreground(orientation) : nil
        if let found {
            box = found.enlarged(by: level.crop?.margin ?? .none, spacing: own, upTo: native)
        } else {
            box = VoxelBox(all: native)
        }
        // The spacing that the package states for each axis before or after the volume is reoriented.
        let stated = (0..<3).map { axis in
            level.orientsAfterSpacing ? transpose.source.firstIndex(of: axes[axis]) ?? axis : axis
        }
        let wanted = (0..<3).map { axis in level.spacing.flatMap { $0[2 - stated[axis]] } ?? own[axis] }
        nativeSpacing = own
        let spacing = SIMD3(wanted[0], wanted[1], wanted[2])
        var (image, logits) = (level.imageResampling, level.logitsResampling)
        labels = level.labelsResampling
        switch image.method {
        case .none: shape = box.shape
        case .monai:
            let grid = try Self.monaiGrid(
                level.orientsAfterSpacing ? source.geometry : turned.geometry(from: source.geometry),
                rearranged: level.orientsAfterSpacing ? orientation : transpose,
                box,
                spacing: spacing
            )
            shape = grid.shape
            image.alignment = grid.alignment
            logits.alignment = grid.alignment.inverse
        case .spline, .torch, .zoom:
            if let size = level.size {
                shape = try Self.fixed(size, of: box.shape)
            } else {
                shape = try targetShape(of: box.shape, spacing: own, resampledTo: spacing)
            }
        }
        self.spacing = level.size == nil ? spacing : own * Self.extents(box.shape) / Self.extents(shape)
        self.image = image
        self.logits = logits
        // The largest one, until the image is known.
        window = VoxelBox(all: shape)
        if let crop = level.crop, crop.padsMargin {
            window = window.enlarged(by: crop.margin, spacing: self.spacing, upTo: nil)
        }
    }

    private static func extents(_ shape: VolumeShape) -> SIMD3<Double> {
        SIMD3(Double(shape.x), Double(shape.y), Double(shape.z))
    }

    private static func fixed(_ size: GridSize, of shape: VolumeShape) throws(NumericsError) -> VolumeShape {
        guard let fixed = size.shape(of: shape) else {
            throw .shape("resampling \(shape) to the package's size gives more voxels than can be handled")
        }
        return fixed
    }

    /// MONAI's grid for a box, which depends on order and direction of the axes when the volume is resampled.
    /// - Parameters:
    ///   - geometry: of the volume when it is resampled.
    ///   - rearrangement: from its axes to the networks'.
    ///   - box, spacing: along the networks' axes.
    private static func monaiGrid(
        _ geometry: VolumeGeometry,
        rearranged rearrangement: AxisOrientation,
        _ box: VoxelBox,
        spacing: SIMD3<Double>
    ) throws -> (shape: VolumeShape, alignment: GridAlignment) {
        let part = box.oriented(by: rearrangement.inverse, in: rearrangement.shape(from: geometry.shape))
        var wanted = SIMD3(0.0, 0, 0)
        for (axis, source) in rearrangement.source.enumerated() { wanted[source] = spacing[axis] }
        let cropped = geometry.cropped(to: part)
        let grid = try MONAIGrid(of: cropped.shape, affine: cropped.affine, spacing: wanted)
        return (
            rearrangement.shape(from: grid.shape),
            grid.alignment.oriented(by: rearrangement, from: cropped.shape, to: grid.shape)
        )
    }

    /// Whether nothing is resampled.
    var isNative: Bool { shape == box.shape && (image.alignment?.isIdentity ?? true) }

    /// Whether networks see the whole grid.
    var isWhole: Bool { window == VoxelBox(all: shape) }

    /// The plane of the window from which on planes have to be known for a plane of the grid. Of a grid that is not done, at least
    /// the last one.
    func plane(inWindow plane: Int) -> Int {
        let depth = window.shape.z
        return plane >= shape.z ? depth : min(max(plane - window.lower.z, 0), depth - 1)
    }

    /// The number of planes of the grid that are known once this number of planes of the window is.
    func planes(known: Int) -> Int {
        known == window.shape.z ? shape.z : known == 0 ? 0 : min(max(window.lower.z + known, 0), shape.z)
    }

    func tiles(_ level: LevelModel, _ options: SegmentationOptions) throws -> TilePlan {
        try TilePlan(
            imageShape: GridZYX(window.shape),
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

extension VoxelBox {
    /// The box with a margin on each side.
    /// - Parameters:
    ///   - spacing: in mm.
    ///   - grid: at whose border the margin ends; nil for none.
    func enlarged(by margin: Margin, spacing: SIMD3<Double>, upTo grid: VolumeShape?) -> VoxelBox {
        var larger = self
        for axis in 0..<3 {
            let distance = margin.voxels(extent: shape[axis], spacing: spacing[axis])
            larger.lower[axis] = lower[axis] - distance
            larger.upper[axis] = upper[axis] + distance
            guard let grid else { continue }
            larger.lower[axis] = max(0, larger.lower[axis])
            larger.upper[axis] = min(grid[axis], larger.upper[axis])
        }
        return larger
    }
}
