public import NocturneInference
public import NocturnePostprocess

/// How a volume model is applied.
public struct VolumeSegmentationSettings: Hashable, Sendable {
    public enum Output: String, Hashable, Sendable {
        /// One network output per class, background first; the largest wins. A label's value is its class.
        case classes
        /// One network output per label, in the order of ``ModelPackage/labels``: each is an independent region, and
        /// later ones overwrite earlier ones.
        case regions
    }

    /// The files that a model takes.
    public enum InputFormat: String, Hashable, Sendable {
        /// DICOM series and NIfTI files.
        case medical
        /// TIFFs whose pages are slices, as read by nnU-Net's `Tiff3DIO`.
        case tiff
    }

    /// One, or two for a cascade: the labels of the first become input channels of the second.
    public var levels: [CascadeLevel]
    public let output: Output
    public let inputFormat: InputFormat
    public let postprocessing: PostprocessingSettings
    /// The window of pictures if an image gives none; nil for the first channel's bounds.
    public let window: DisplayWindow?

    package init(
        levels: [CascadeLevel],
        output: Output,
        inputFormat: InputFormat = .medical,
        postprocessing: PostprocessingSettings,
        window: DisplayWindow? = nil
    ) {
        self.inputFormat = inputFormat
        self.levels = levels
        self.output = output
        self.postprocessing = postprocessing
        self.window = window
    }
}

/// A display window from black to white, as defined by DICOM.
public struct DisplayWindow: Hashable, Sendable {
    /// In the image's unit, finite.
    public let center: Double
    /// From 1 on, finite.
    public let width: Double

    package init(center: Double, width: Double) {
        self.center = center
        self.width = width
    }
}

/// One cascade level: a grid, networks for it, and the transformation back. All triples are in the networks' order: (z,
/// y, x) of the volume, permuted by ``transpose``.
public struct CascadeLevel: Hashable, Sendable {
    public enum Orientation: String, Hashable, Sendable {
        /// The volume is reoriented to the nearest RAS+ grid first, as by nnU-Net's `NibabelIOWithReorient`: where that
        /// changes the order of a NIfTI file's voxels, the spacing is that of its affine.
        case ras = "RAS"
        /// The same, as by `SimpleITKIOWithReorient`: the spacing is always the header's own field.
        case rasByITK = "RAS-ITK"
        /// The axes stay as stored in the file.
        case stored
    }

    public let orientation: Orientation
    /// Axis a of the networks is axis `transpose[a]` of (z, y, x): nnU-Net's `transpose_forward`.
    public let transpose: [Int]
    /// The voxel spacing in mm that the networks expect; nil for the volume's own. If ``isPlanar``, the first is always
    /// the volume's own, and nil here.
    public let spacing: [Double?]?
    /// The voxels of a tile, each 1...1024. If ``isPlanar``, the first is 1.
    public let patchSize: [Int]
    /// Whether the networks take slices (N, C, y, x) across the first axis instead of volumes.
    public let isPlanar: Bool
    /// The step between tiles as a share of the patch, above 0 and at most 1. A batch's options may override it.
    public let tileStep: Double
    /// Where tiles are, what is beyond the volume, and how tiles are weighted.
    public let tiling: TilingSettings
    /// The axes along which predictions of mirrored tiles are averaged; empty for none. Ascending. A batch's options
    /// may disable mirroring.
    public let mirroringAxes: [Int]
    /// Whether the volume is first cropped to the bounds of the voxels that are nonzero in any channel.
    public let cropToNonzero: Bool
    /// For the image channels before the networks, for the logits after them, and for a previous level's labels.
    public let imageResampling: ResamplingSettings
    public let logitsResampling: ResamplingSettings
    public let labelsResampling: ResamplingSettings
    /// Whether statistics and normalisation are those of the resampled image; otherwise of the image before.
    public let normalizesAfterResampling: Bool
    /// Whether logits become probabilities before they are resampled, instead of being resampled themselves.
    public let resamplesProbabilities: Bool
    /// One per image channel.
    public let normalizations: [IntensityNormalization]
    /// The labels of the previous level, each a channel of 0 and 1 after the image's; empty in the first level.
    public let oneHotLabels: [UInt16]
    /// Paths among ``ModelPackage/files``; the logits of several (folds) are averaged. At least one.
    public let networks: [String]

    /// The number of input channels of the networks.
    public var inputChannels: Int { normalizations.count + oneHotLabels.count }

    package init(
        orientation: Orientation,
        transpose: [Int],
        spacing: [Double?]?,
        patchSize: [Int],
        isPlanar: Bool,
        tileStep: Double,
        tiling: TilingSettings,
        mirroringAxes: [Int],
        cropToNonzero: Bool,
        imageResampling: ResamplingSettings,
        logitsResampling: ResamplingSettings,
        labelsResampling: ResamplingSettings,
        normalizesAfterResampling: Bool,
        resamplesProbabilities: Bool,
        normalizations: [IntensityNormalization],
        oneHotLabels: [UInt16],
        networks: [String]
    ) {
        self.orientation = orientation
        self.transpose = transpose
        self.spacing = spacing
        self.patchSize = patchSize
        self.isPlanar = isPlanar
        self.tileStep = tileStep
        self.tiling = tiling
        self.mirroringAxes = mirroringAxes
        self.cropToNonzero = cropToNonzero
        self.imageResampling = imageResampling
        self.logitsResampling = logitsResampling
        self.labelsResampling = labelsResampling
        self.normalizesAfterResampling = normalizesAfterResampling
        self.resamplesProbabilities = resamplesProbabilities
        self.normalizations = normalizations
        self.oneHotLabels = oneHotLabels
        self.networks = networks
    }
}

/// How a level divides a volume into tiles.
public struct TilingSettings: Hashable, Sendable {
    public let rule: TilingRule
    public let weights: ImportanceMap.Profile

    package init(rule: TilingRule = TilingRule(), weights: ImportanceMap.Profile = .gaussian) {
        self.rule = rule
        self.weights = weights
    }
}

/// How data is resampled to another grid: the arguments of nnU-Net's resampling functions.
public struct ResamplingSettings: Hashable, Sendable {
    public enum Method: String, Hashable, Sendable {
        /// `resample_data_or_seg_to_shape`: splines.
        case spline
        /// `resample_torch_fornnunet`: linear, in single precision.
        case torch
        /// `no_resampling_hack`: the grid stays as it is.
        case none
        /// `ndimage.zoom`, for the grid of a program only.
        case zoom
        /// MONAI's `Spacing`, and its inverse for logits or probabilities.
        case monai
    }

    public enum SeparateAxis: String, Hashable, Sendable {
        case auto, always, never
    }

    public let method: Method
    /// The spline's order, 0, 1 or 3: in all axes, or within the planes if one axis is resampled separately.
    public let order: Int
    /// The order along the axis that is resampled separately.
    public let orderZ: Int
    /// Whether the axis of the largest spacing is resampled separately: always, never, or if its spacing exceeds
    /// ``anisotropyThreshold`` times the smallest.
    public let separateZ: SeparateAxis
    public let anisotropyThreshold: Double

    package init(
        method: Method,
        order: Int,
        orderZ: Int,
        separateZ: SeparateAxis,
        anisotropyThreshold: Double
    ) {
        self.method = method
        self.order = order
        self.orderZ = orderZ
        self.separateZ = separateZ
        self.anisotropyThreshold = anisotropyThreshold
    }
}

/// Postprocessing of the label map. All names are among the package's labels.
public struct PostprocessingSettings: Hashable, Sendable {
    /// In this order: groups of labels, treated as one, of which only the largest connected component is kept.
    public let keepLargest: [[String]]
    /// Labels whose enclosed holes are filled.
    public let fillHoles: [String]
    /// Components smaller than this, in mm³, are removed.
    public let minimumVolumeMm3: [String: Double]

    /// Which voxels count as connected: 6 (faces), 18 (edges) or 26 (corners), the default as in nnU-Net.
    public let connectivity: Int
    /// In this order, before all other rules: operations on the shape of labels.
    public let morphology: [MorphologySettings]

    public var isEmpty: Bool {
        keepLargest.isEmpty && fillHoles.isEmpty && minimumVolumeMm3.isEmpty && morphology.isEmpty
    }

    package init(
        keepLargest: [[String]],
        fillHoles: [String],
        minimumVolumeMm3: [String: Double],
        connectivity: Int = 26,
        morphology: [MorphologySettings] = []
    ) {
        self.morphology = morphology
        self.connectivity = connectivity
        self.keepLargest = keepLargest
        self.fillHoles = fillHoles
        self.minimumVolumeMm3 = minimumVolumeMm3
    }
}

extension VolumeSegmentationSettings {
    /// The key of the task's section in `model.json`.
    static let section = "volumeSegmentation"

    /// - Parameter package: of the task `volume-segmentation`.
    public init(_ package: ModelPackage) throws(ModelPackageError) {
        let validation = package.validation
        try validation.checkLabelMaps(package)
        let section = try package.section(Self.section, as: VolumeSegmentationSection.self)
        self = try validation.volumeSegmentation(section, of: package)
    }

    /// The ONNX files, among ``ModelPackage/files``.
    public var networks: [String] { levels.flatMap(\.networks) }
}

/// An operation on the shape of labels.
public struct MorphologySettings: Hashable, Sendable {
    public let operation: MorphologyOperation
    /// At least one.
    public let labels: [String]
    /// mm, above 0: the radius of the ball, or the standard deviation of `smooth`.
    public let millimetres: Double

    package init(operation: MorphologyOperation, labels: [String], millimetres: Double) {
        self.operation = operation
        self.labels = labels
        self.millimetres = millimetres
    }
}
