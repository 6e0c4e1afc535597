public import NocturneInference

/// How a model that classifies photos is applied.
public struct PhotoClassificationSettings: Hashable, Sendable {
    public enum Output: String, Hashable, Sendable, CaseIterable {
        /// The classifier's first output holds logits; softmax is applied.
        case logits
        /// It already holds probabilities.
        case probabilities
    }

    /// Side of the square picture the classifier takes, in pixels.
    public let inputSize: Int
    /// Pictures whose shorter side has fewer pixels are refused.
    public let minimumSide: Int
    /// Of red, green and blue in 0…1.
    public let mean: [Double]
    public let standardDeviation: [Double]
    /// Whether colours are corrected by Shades of Gray with the Minkowski norm 6.
    public let usesColorConstancy: Bool
    /// Whether results concern people's health and carry the disclaimer. True unless the package says otherwise.
    public let isMedical: Bool
    public let output: Output
    /// In the order of the classifier's output.
    public let classes: [PhotoClass]
    /// Nil if no class is a risk.
    public let risk: PhotoRiskSettings?
    /// A result is noted as uncertain when no class reaches this probability,
    public let lowConfidence: Double
    /// or when the first is less than this ahead of the second.
    public let minimumLead: Double
    /// The classifier's metadata input; nil for a classifier without one.
    public let metadata: PhotoMetadataSettings?
    /// Paths among ``ModelPackage/files``.
    public let classifier: String
    public let attention: String?

    package init(
        inputSize: Int,
        minimumSide: Int,
        mean: [Double],
        standardDeviation: [Double],
        usesColorConstancy: Bool,
        isMedical: Bool,
        output: Output,
        classes: [PhotoClass],
        risk: PhotoRiskSettings?,
        lowConfidence: Double,
        minimumLead: Double,
        metadata: PhotoMetadataSettings?,
        classifier: String,
        attention: String?
    ) {
        self.inputSize = inputSize
        self.minimumSide = minimumSide
        self.mean = mean
        self.standardDeviation = standardDeviation
        self.usesColorConstancy = usesColorConstancy
        self.isMedical = isMedical
        self.output = output
        self.classes = classes
        self.risk = risk
        self.lowConfidence = lowConfidence
        self.minimumLead = minimumLead
        self.metadata = metadata
        self.classifier = classifier
        self.attention = attention
    }
}

/// A class of photos.
public struct PhotoClass: Hashable, Sendable {
    /// Safe as a file name, unique in the package.
    public let name: String
    /// For display, in lower case unless it is a proper name.
    public let title: String
    public let isMalignant: Bool
    public let color: LabelColor

    package init(name: String, title: String, isMalignant: Bool, color: LabelColor) {
        self.name = name
        self.title = title
        self.isMalignant = isMalignant
        self.color = color
    }
}

/// When a result has a high or moderate risk. A score equal to a threshold reaches its level.
public struct PhotoRiskSettings: Hashable, Sendable {
    /// Names of classes that mean a high risk from ``highThreshold`` on.
    public let highClasses: [String]
    public let highThreshold: Double
    /// From this score on, any malignant class means a moderate risk.
    public let moderateThreshold: Double

    package init(highClasses: [String], highThreshold: Double, moderateThreshold: Double) {
        self.highClasses = highClasses
        self.highThreshold = highThreshold
        self.moderateThreshold = moderateThreshold
    }
}

/// The metadata input of a classifier.
public struct PhotoMetadataSettings: Hashable, Sendable {
    /// The site of a picture without one.
    public static let unknownSite = "unknown"

    /// Names of body sites; the classifier takes the index. ``unknownSite`` is among them.
    public let sites: [String]

    package init(sites: [String]) { self.sites = sites }
}

extension PhotoClassificationSettings: ModelSettings {
    /// The key of the task's section in `model.json`.
    static let section = "photoClassification"

    public init(_ package: ModelPackage) throws(ModelPackageError) {
        let section = try package.section(Self.section, as: PhotoClassificationSection.self)
        self = try package.validation.photoClassification(section, files: package.files)
    }

    public var networks: [String] { [classifier] + [attention].compactMap { $0 } }
}
