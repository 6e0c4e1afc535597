public import NocturneInference

/// How a model for instance segmentation of photos is applied.
public struct PhotoInstancesSettings: Hashable, Sendable {
    /// What the network's outputs are.
    public enum Output: Hashable, Sendable {
        /// One output `[1][maps][y][x]` of the input's extents: foreground, boundary and, if `hasCentre`, centre.
        case maps(MapSplitting)
        /// Like YOLO-seg: `[1][4 + classes + coefficients][candidates]` and `[1][coefficients][y][x]`, by these names.
        case prototypes(candidates: String, prototypes: String, thresholds: DetectionThresholds)
        /// Like Mask R-CNN: boxes `[n][4]`, scores and classes `[n]`, masks `[n][1][y][x]`, by these names; the first
        /// class has the number `firstClass`.
        case masks(
            boxes: String,
            scores: String,
            classes: String,
            masks: String,
            firstClass: Int,
            thresholds: DetectionThresholds
        )
    }

    /// The network's file, among ``ModelPackage/files``.
    public let network: String
    public let input: PhotoInput
    public let output: Output
    /// At least one; exactly one for maps, which do not distinguish classes.
    public let classes: [InstanceClass]
    /// The maximum number of instances in a photo, 1...1000.
    public let maximumInstances: Int

    package init(
        network: String,
        input: PhotoInput,
        output: Output,
        classes: [InstanceClass],
        maximumInstances: Int
    ) {
        self.network = network
        self.input = input
        self.output = output
        self.classes = classes
        self.maximumInstances = maximumInstances
    }
}

/// How a photo becomes a network's input: scaled so that the longer side has ``longSide`` pixels, then padded with the
/// mean to multiples of ``multiple``. Channels are red, green and blue.
public struct PhotoInput: Hashable, Sendable {
    /// Where the photo lies in the input.
    public enum Placement: String, Hashable, Sendable {
        /// In the upper left corner: the padding is on the right and at the bottom.
        case corner
        /// In the middle: the padding is on both sides, an odd pixel on the right or at the bottom.
        case centre
    }

    /// How the photo is scaled.
    public enum Resampling: String, Hashable, Sendable {
        /// As Pillow does it (bilinear): no pixel is skipped.
        case antialiased
        /// As OpenCV does it (bilinear): of the four pixels around each position.
        case bilinear
    }

    /// Pixels, 32...4096.
    public let longSide: Int
    /// Both extents of the input are multiples of it, 1...512.
    public let multiple: Int
    /// Whether the input is always a square of ``longSide``.
    public let isSquare: Bool
    /// The minimum length of a photo's shorter side, in pixels.
    public let minimumSide: Int
    public let placement: Placement
    public let resampling: Resampling
    /// Of red, green and blue in 0...1.
    public let mean: [Double]
    public let deviation: [Double]

    package init(
        longSide: Int,
        multiple: Int,
        isSquare: Bool,
        minimumSide: Int,
        placement: Placement = .corner,
        resampling: Resampling = .antialiased,
        mean: [Double],
        deviation: [Double]
    ) {
        self.longSide = longSide
        self.multiple = multiple
        self.isSquare = isSquare
        self.minimumSide = minimumSide
        self.placement = placement
        self.resampling = resampling
        self.mean = mean
        self.deviation = deviation
    }
}

/// How maps become instances; areas and lengths in pixels of the maps, thresholds in 0...1.
public struct MapSplitting: Hashable, Sendable {
    public enum Activation: String, Hashable, Sendable {
        /// The network returns probabilities.
        case none
        /// The network returns logits.
        case sigmoid
    }

    public let activation: Activation
    public let hasCentre: Bool
    public let foregroundThreshold: Float
    /// Below it a pixel is certainly background, which is flooded too; 0 for none.
    public let backgroundThreshold: Float
    public let seedThreshold: Float
    public let boundaryWeight: Float
    public let minimumSeedArea: Int
    public let minimumArea: Int
    public let mergeBoundary: Float
    public let minimumContact: Int
    /// Instances below this share of the median area of a photo's instances are merged with a neighbour or dropped; 0
    /// keeps all.
    public let minimumAreaShareOfMedian: Float
    /// A photo in which less of the instances' area has clear outlines has none; 0 keeps all.
    public let minimumClearShare: Float

    package init(
        activation: Activation,
        hasCentre: Bool,
        foregroundThreshold: Float,
        backgroundThreshold: Float,
        seedThreshold: Float,
        boundaryWeight: Float,
        minimumSeedArea: Int,
        minimumArea: Int,
        mergeBoundary: Float,
        minimumContact: Int,
        minimumAreaShareOfMedian: Float,
        minimumClearShare: Float
    ) {
        self.activation = activation
        self.hasCentre = hasCentre
        self.foregroundThreshold = foregroundThreshold
        self.backgroundThreshold = backgroundThreshold
        self.seedThreshold = seedThreshold
        self.boundaryWeight = boundaryWeight
        self.minimumSeedArea = minimumSeedArea
        self.minimumArea = minimumArea
        self.mergeBoundary = mergeBoundary
        self.minimumContact = minimumContact
        self.minimumAreaShareOfMedian = minimumAreaShareOfMedian
        self.minimumClearShare = minimumClearShare
    }
}

/// Thresholds of networks that return instances directly, in 0...1; the area in pixels of the network's input.
public struct DetectionThresholds: Hashable, Sendable {
    public let score: Float
    public let boxOverlap: Float
    public let maskOverlap: Float
    /// Above 0 and below 1.
    public let mask: Float
    public let minimumArea: Int

    package init(score: Float, boxOverlap: Float, maskOverlap: Float, mask: Float, minimumArea: Int) {
        self.score = score
        self.boxOverlap = boxOverlap
        self.maskOverlap = maskOverlap
        self.mask = mask
        self.minimumArea = minimumArea
    }
}

/// A class of instances.
public struct InstanceClass: Hashable, Sendable {
    /// Safe as part of a file name, unique in the package ignoring case.
    public let name: String
    public let color: LabelColor

    package init(name: String, color: LabelColor) {
        self.name = name
        self.color = color
    }
}

extension PhotoInstancesSettings: ModelSettings {
    /// The key of the task's section in `model.json`.
    static let section = "photoInstances"

    public init(_ package: ModelPackage) throws(ModelPackageError) {
        let section = try package.section(Self.section, as: PhotoInstancesSection.self)
        self = try package.validation.photoInstances(section, files: package.files)
    }

    public var networks: [String] { [network] }
}
