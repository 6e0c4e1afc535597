package import NocturneCore
package import NocturneInference
package import NocturneNumerics
package import NocturnePictures
package import NocturnePostprocess
import NocturneSystem

/// How a volume model is applied.
package struct VolumeSegmentationSettings: Hashable, Sendable {
    /// What the outputs of the networks are.
    package enum Output: Hashable, Sendable {
        /// One network output per class, background first; the largest wins. A label's value is its class.
        case classes
        /// One network output per label, in the order of ``ModelPackage/labels``: each is an independent region, where its
        /// probability is above the threshold (above 0 and below 1), and later ones overwrite earlier ones.
        case regions(threshold: Double)
    }

    /// The files that a model takes.
    package enum InputFormat: String, Hashable, Sendable, CaseIterable {
        /// DICOM series, NIfTI, NRRD and MetaImage files.
        case medical
        /// TIFFs whose pages are slices, as read by nnU-Net's `Tiff3DIO`.
        case tiff
    }

    /// One, or two for a cascade: the labels of the first become input channels of the second.
    package var levels: [CascadeLevel]
    /// How outputs become labels.
    package let output: Output
    /// Which files are inputs.
    package let inputFormat: InputFormat
    /// How the label map is cleaned.
    package let postprocessing: PostprocessRules
    /// The window of pictures if an image gives none; nil for the first channel's bounds.
    package let window: PictureWindow?
}

/// One cascade level: a grid, networks for it, and the transformation back. All triples are in the networks' order: (z,
/// y, x) of the volume, permuted by ``transpose``.
package struct CascadeLevel: Hashable, Sendable {
    /// To which axes a volume is reoriented before anything else, by the nearest axis of the patient.
    package enum Orientation: String, Hashable, Sendable, CaseIterable {
        /// The volume is reoriented to the nearest RAS+ grid first, as by nnU-Net's `NibabelIOWithReorient`: where that
        /// changes the order of a NIfTI file's voxels, the spacing is that of its affine.
        case ras = "RAS"
        /// The same, as by `SimpleITKIOWithReorient`: the spacing is always the header's own field.
        case rasByITK = "RAS-ITK"
        /// The volume is reoriented to the nearest LPS+ grid; the spacing is always the header's own field.
        case lps = "LPS"
        /// The axes stay as stored in the file.
        case stored

        /// From the stored axes of a volume.
        func axes(of affine: Affine) -> AxisOrientation {
            switch self {
            case .stored: .stored
            case .ras, .rasByITK: AxisOrientation(of: affine)
            case .lps:
                AxisOrientation(of: affine)
                    .followed(by: AxisOrientation(source: [0, 1, 2], reversed: [true, true, false]))
            }
        }
    }

    /// How the volume is reoriented.
    package let orientation: Orientation
    /// Whether MONAI's `Spacing` comes before the volume is reoriented: ``spacing`` is then that of the stored axes.
    package let orientsAfterSpacing: Bool
    /// Axis a of the networks is axis `transpose[a]` of (z, y, x): nnU-Net's `transpose_forward`.
    package let transpose: [Int]
    /// The voxel spacing in mm that the networks expect; nil for the volume's own. If ``isPlanar``, the first is always
    /// the volume's own, and nil here.
    package let spacing: [Double?]?
    /// The size of the grid that the networks get, instead of a spacing; nil for a grid of ``spacing``.
    package let size: GridSize?
    /// The voxels of a tile, each 1...1024, of slices 1...8192. If ``isPlanar``, the first is 1.
    package let patchSize: [Int]
    /// Whether the networks take slices (N, C, y, x) across the first axis instead of volumes.
    package let isPlanar: Bool
    /// The step between tiles as a share of the patch, above 0 and at most 1. A batch's options may override it.
    package let tileStep: Double
    /// Where tiles are, what is beyond the volume, and how tiles are weighted.
    package let tiling: TilingSettings
    /// The axes along which predictions of mirrored tiles are averaged; empty for none. Ascending. A batch's options
    /// may disable mirroring.
    package let mirroringAxes: [Int]
    /// How the volume is cropped; nil for not at all.
    package let crop: CropSettings?
    /// For the image channels before the networks, for the logits after them, and for a previous level's labels.
    package let imageResampling: ResamplingRule
    /// From the networks' grid to the volume's own.
    package let logitsResampling: ResamplingRule
    /// From the volume's own grid to the networks'.
    package let labelsResampling: ResamplingRule
    /// The standard deviations of the Gaussian filter of the blended logits, in voxels of the networks' grid for each axis; nil
    /// for none. If ``isPlanar``, the first is 0.
    package let logitBlur: [Double]?
    /// Whether statistics and normalisation are those of the resampled image; otherwise of the image before.
    package let normalizesAfterResampling: Bool
    /// Whether logits become probabilities before they are resampled, instead of being resampled themselves.
    package let resamplesProbabilities: Bool
    /// For each image channel one, or several in a row.
    package let normalizations: [[Normalization]]
    /// The labels of the previous level, each a channel of 0 and 1 after the image's; empty in the first level.
    package let oneHotLabels: [UInt16]
    /// Paths among ``ModelPackage/files``; the logits of several (folds) are averaged. At least one.
    package let networks: [String]

    /// Whether a normalisation needs the mask of the voxels that are not 0 in all channels.
    var needsMask: Bool { normalizations.joined().contains(where: \.needsMask) }

    /// The number of input channels of the networks.
    package var inputChannels: Int { normalizations.count + oneHotLabels.count }
}

/// A grid of fixed size, whatever the spacing of a volume is.
package enum GridSize: Hashable, Sendable {
    /// The voxels along each axis, 1...8192; nil for the volume's own.
    case axes([Int?])
    /// The voxels of the longest of these axes, 1...8192; the others keep the proportions.
    case longest(Int, of: Range<Int>)

    /// The shape of the grid for a volume, or its part, of a shape.
    func shape(of own: VolumeShape) -> VolumeShape? {
        var sizes = [own.z, own.y, own.x]
        switch self {
        case .axes(let wanted):
            for axis in 0..<3 { sizes[axis] = wanted[axis] ?? sizes[axis] }
        case .longest(let voxels, let axes):
            let longest = axes.map { sizes[$0] }.max() ?? 1
            for axis in axes {
                let length = (Double(sizes[axis]) * Double(voxels) / Double(longest)).rounded(.toNearestOrEven)
                sizes[axis] = max(1, Int(length))
            }
        }
        return VolumeShape(validating: sizes[2], y: sizes[1], z: sizes[0])
    }
}

/// The box to which a volume, or the image that the networks get, is cropped: that of the voxels that count in any channel, and a
/// margin.
package struct CropSettings: Hashable, Sendable {
    /// Voxels with larger values count; nil for those that are not 0.
    package let above: Float?
    /// Up to the border of the volume, unless ``padsMargin``.
    package let margin: Margin
    /// Whether the normalized image is cropped, on the networks' grid, instead of the volume before anything else. Only with one
    /// channel.
    package let isOfNormalizedImage: Bool
    /// Whether the margin is complete where it goes beyond the border of the networks' grid: the image is 0 there. Only with
    /// ``isOfNormalizedImage``.
    package let padsMargin: Bool
}

/// By how much a box is larger than what it encloses, on each side: the sum of its parts, in whole voxels.
package struct Margin: Hashable, Sendable {
    /// At least 0; whole voxels of it count.
    package let millimetres: Double
    /// At least 0.
    package let voxels: Int
    /// Of the extent of what is enclosed, along each axis; at least 0. Whole voxels of it count.
    package let share: Double

    static let none = Margin(millimetres: 0, voxels: 0, share: 0)

    /// The margin along an axis, in voxels.
    /// - Parameters:
    ///   - extent: of what is enclosed, in voxels.
    ///   - spacing: in mm.
    func voxels(extent: Int, spacing: Double) -> Int {
        Int((millimetres / spacing).rounded(.down)) + voxels + Int((share * Double(extent)).rounded(.down))
    }
}

/// How a level divides a volume into tiles.
package struct TilingSettings: Hashable, Sendable {
    /// Where tiles are, and what is beyond the volume.
    package let rule: TilingRule
    /// Of the voxels of a tile where tiles overlap.
    package let weights: ImportanceMap.Profile

    /// By default with Gaussian weights, as nnU-Net.
    package init(rule: TilingRule = TilingRule(), weights: ImportanceMap.Profile = .gaussian) {
        self.rule = rule
        self.weights = weights
    }
}

extension VolumeSegmentationSettings {
    /// The key of the task's section in `model.json`.
    static let section = "volumeSegmentation"

    /// - Parameter package: of the task `volume-segmentation`.
    package init(_ package: ModelPackage) throws(ModelPackageError) {
        try package.requireLabelMap()
        self = try package.section(Self.section) { section throws(JSONFields.Fault) in
            try VolumeSegmentationSettings(section, of: package)
        }
    }

    /// The ONNX files, among ``ModelPackage/files``.
    package var networks: [String] { levels.flatMap(\.networks) }
}
