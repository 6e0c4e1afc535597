public import NocturneCore
public import NocturneSystem

/// A folder with `model.json` and the networks it lists, read and checked by
/// ``load(folder:verifyDigests:validate:)``.
public struct ModelPackage: Sendable {
    /// The folder it was loaded from, as given.
    public let folder: String
    /// SHA-256 of the bytes of `model.json`, which contain the digests of all other files: the identity of the package.
    public let digest: ContentDigest
    /// Safe as a file name. Of packages that are distinguished by their versions, the id and the version.
    public private(set) var id: String
    /// For people; not empty.
    public let name: String
    /// For people; empty where the document has none.
    public let description: String
    /// Any text that is not empty; it is not compared as a number.
    public let version: String
    /// As the document states it; not empty.
    public let licence: String
    /// The task of the model: the name of the recipe that runs it.
    public let task: String
    /// At least one.
    public let files: [ModelFile]
    /// DICOM modalities the model was made for, of CT, MR and PT; empty means any.
    public let modalities: [String]
    /// The network's input channels, in its order. At least one for volumes.
    public let channels: [ModelChannel]
    /// In the order of `model.json`; at least one for volumes.
    public let labels: [ModelLabel]
    /// What it was made of; nil where nobody recorded it.
    public let source: ModelSource?
    /// Whether it shows how a kind of model works, and its results on real images mean nothing.
    public let isDemonstration: Bool
    /// The other members of `model.json`, of which the recipe reads the task's section, as ``ModelSettings``, and refuses others.
    let sections: JSONFields

    /// The packages with distinct ids: where several have the same id, it is followed by `@` and the version, in
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

    /// The label of this name, with the same case; nil for unknown names.
    public func label(named name: String) -> ModelLabel? { labels.first { $0.name == name } }

    /// The label of a value in label maps; nil for unknown values and for 0.
    public func label(withValue value: UInt16) -> ModelLabel? { labels.first { $0.value == value } }
}

/// What a package was made of, as the importer recorded it.
public struct ModelSource: Hashable, Sendable, Codable {
    /// Of a project in a registry; nil for files and folders.
    public let name: String?
    /// Of that project.
    public let version: String?
    /// The file or folder.
    public let file: String
    /// Of the file, in hex; of a folder, of the digests and names of its files.
    public let sha256: String
}

/// The checked content of a task's section in `model.json`. It is defined by the recipe of the task.
public protocol ModelSettings: Sendable {
    /// Reads and checks the section; see ``ModelPackage/section(_:_:)``.
    init(_ package: ModelPackage) throws(ModelPackageError)

    /// The ONNX files, among ``ModelPackage/files``.
    var networks: [String] { get }
}

/// A file of the package.
public struct ModelFile: Hashable, Sendable {
    /// Relative to the package folder, never outside of it.
    public let path: String
    /// Of the content.
    public let sha256: ContentDigest
    /// The size: at least 1, below 2^46.
    public let bytes: Int
}

/// An input channel of the network.
public struct ModelChannel: Hashable, Sendable {
    /// Unique in the package, not empty.
    public let name: String
    /// One after the other: each gets what the one before has made. At least one.
    public let normalizations: [Normalization]

    /// - Parameter normalizations: at least one.
    package init(name: String, normalizations: [Normalization]) {
        self.name = name
        self.normalizations = normalizations
    }
}

/// A structure that the network segments.
public struct ModelLabel: Hashable, Sendable {
    /// The value in label maps, and the network's class index. Never 0, which is background.
    public let value: UInt16
    /// Safe as a file name, unique in the package even when case is ignored.
    public let name: String
    /// The name for people, in any script; nil where it is ``name``.
    public let title: String?
    /// As `#rrggbb` in the document.
    public let color: LabelColor
    /// In a terminology such as SNOMED CT; nil where the document has none.
    public let code: CodedConcept?
    /// Whether every image that the model is made for shows it, so that a result without it is to be looked at.
    public let isExpected: Bool

    /// The values are not checked; see ``ModelPackage/load(folder:verifyDigests:validate:)``.
    package init(
        value: UInt16,
        name: String,
        title: String? = nil,
        color: LabelColor,
        code: CodedConcept? = nil,
        isExpected: Bool = false
    ) {
        self.value = value
        self.name = name
        self.title = title
        self.color = color
        self.code = code
        self.isExpected = isExpected
    }
}
