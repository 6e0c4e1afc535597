package import Foundation
public import NocturneSystem

/// A folder with `model.json` and the networks it lists, read and checked by
/// ``load(folder:verifyDigests:flag:validate:)``.
public struct ModelPackage: Sendable {
    /// The folder it was loaded from, as given.
    public let folder: String
    /// SHA-256 of the bytes of `model.json`, which contain the digests of all other files: the identity of the package.
    public let digest: ContentDigest
    /// Safe as a file name. Of packages that are told apart by their versions, the id and the version.
    public private(set) var id: String
    public let name: String
    public let description: String
    public let version: String
    public let licence: String
    /// The task of the model: the name of the recipe that runs it.
    public let task: String
    /// At least one.
    public let files: [ModelFile]
    /// DICOM modalities the model was made for; empty means any.
    public let modalities: [String]
    /// The network's input channels, in its order. At least one for volumes.
    public let channels: [ModelChannel]
    /// In the order of `model.json`; at least one for volumes.
    public let labels: [ModelLabel]
    /// `model.json` as it was read: the recipe decodes the task's section, as ``ModelSettings``.
    package let document: Data

    /// The packages with ids that tell them apart: where several have the same id, it is followed by `@` and the version, in
    /// which characters that a file name should not have become `-`. Those of one version keep the same id.
    public static func distinct(_ packages: [ModelPackage]) -> [ModelPackage] {
        packages.map { package in
            guard packages.contains(where: { $0.id == package.id && $0.version != package.version }) else {
                return package
            }
            let version = package.version.map {
                $0.isASCII && ($0.isLetter || $0.isNumber || "._+".contains($0)) ? $0 : "-"
            }
            var package = package
            package.id += "@" + String(version)
            return package
        }
    }

    /// The path of a file of the package.
    public func path(of file: String) -> String { folder + "/" + file }

    /// The total size of all files, which is what loading the networks reads.
    public var totalFileBytes: Int { files.reduce(0) { $0 + $1.bytes } }

    public func label(named name: String) -> ModelLabel? { labels.first { $0.name == name } }

    public func label(withValue value: UInt16) -> ModelLabel? { labels.first { $0.value == value } }

    package init(
        folder: String,
        digest: ContentDigest,
        id: String,
        name: String,
        description: String,
        version: String,
        licence: String,
        task: String,
        files: [ModelFile],
        modalities: [String],
        channels: [ModelChannel],
        labels: [ModelLabel],
        document: Data
    ) {
        self.folder = folder
        self.digest = digest
        self.id = id
        self.name = name
        self.description = description
        self.version = version
        self.licence = licence
        self.task = task
        self.files = files
        self.modalities = modalities
        self.channels = channels
        self.labels = labels
        self.document = document
    }
}

/// The checked content of a task's section in `model.json`. It is defined by the recipe of the task.
public protocol ModelSettings: Sendable {
    /// Decodes and checks the section.
    init(_ package: ModelPackage) throws(ModelPackageError)

    /// The ONNX files, among ``ModelPackage/files``.
    var networks: [String] { get }
}

/// A file of the package.
public struct ModelFile: Hashable, Sendable {
    /// Relative to the package folder, never outside of it.
    public let path: String
    public let sha256: ContentDigest
    public let bytes: Int

    package init(path: String, sha256: ContentDigest, bytes: Int) {
        self.path = path
        self.sha256 = sha256
        self.bytes = bytes
    }
}

/// An input channel of the network.
public struct ModelChannel: Hashable, Sendable {
    public let name: String
    public let normalization: IntensityNormalization

    package init(name: String, normalization: IntensityNormalization) {
        self.name = name
        self.normalization = normalization
    }
}

/// The normalisation of the intensities of a channel before they are passed to the network. The schemes are nnU-Net's,
/// one of brainchop's and some of MONAI's.
public enum IntensityNormalization: Hashable, Sendable {
    /// Clip to the bounds, subtract the mean, divide by the deviation. Bounds ascend, the deviation is above 0.
    case ct(lowerBound: Float, upperBound: Float, mean: Float, standardDeviation: Float)
    /// Subtract the image's mean, divide by its deviation. With the mask, both are computed over the voxels that are
    /// not 0 in all channels, and the other voxels stay unchanged.
    case zScore(usesMask: Bool)
    /// Subtract the mean of the voxels that are not 0 in this channel, divide by their deviation (by 1 where it is 0). Zeros
    /// stay 0.
    case zScoreOfNonzero
    /// Subtract the mean, divide by the deviation, which is above 0.
    case linear(mean: Float, standardDeviation: Float)
    /// Map the image's smallest value to 0 and its largest to 1.
    case rescale01
    /// Map the image's smallest value to `lowerBound` and its largest to `upperBound`. Bounds ascend.
    case rescale(lowerBound: Float, upperBound: Float)
    /// Divide by 255; values outside 0...255 are refused.
    case rgb01
    /// Subtract a low quantile of the image, divide by the distance of a high one from it, without clipping. With
    /// `countsPadding`, the voxels by which the volume is enlarged to the patch count as voxels of its lowest value.
    case quantiles(lower: Double, upper: Double, countsPadding: Bool)
    case none
}

/// A structure that the network segments.
public struct ModelLabel: Hashable, Sendable {
    /// The value in label maps, and the network's class index. Never 0, which is background.
    public let value: UInt16
    /// Safe as a file name, unique in the package even when case is ignored.
    public let name: String
    public let color: LabelColor
    public let code: LabelCode?

    package init(value: UInt16, name: String, color: LabelColor, code: LabelCode? = nil) {
        self.value = value
        self.name = name
        self.color = color
        self.code = code
    }
}

/// A colour in eight-bit sRGB.
public struct LabelColor: Hashable, Sendable, CustomStringConvertible {
    public let red: UInt8
    public let green: UInt8
    public let blue: UInt8

    public init(red: UInt8, green: UInt8, blue: UInt8) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    /// Reads "#rrggbb"; nil for anything else.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 7, bytes[0] == UInt8(ascii: "#"),
            bytes[1...].allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
            let value = UInt32(text.dropFirst(), radix: 16)
        else { return nil }
        self.init(red: UInt8(value >> 16), green: UInt8(value >> 8 & 255), blue: UInt8(value & 255))
    }

    /// "#rrggbb" in lower case.
    public var description: String {
        let digits = String(UInt32(red) << 16 | UInt32(green) << 8 | UInt32(blue), radix: 16)
        return "#" + String(repeating: "0", count: 6 - digits.count) + digits
    }
}

/// The code of a label in a coding scheme, for instance SNOMED CT ("SCT").
public struct LabelCode: Hashable, Sendable {
    public let scheme: String
    public let value: String
    public let meaning: String

    package init(scheme: String, value: String, meaning: String) {
        self.scheme = scheme
        self.value = value
        self.meaning = meaning
    }
}
