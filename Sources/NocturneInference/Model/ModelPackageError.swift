import NocturneSystem

/// Why a model package is refused: which file, which key in it, what was expected and what was found.
public struct ModelPackageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault. More may come.
    public enum Code: String, Hashable, Sendable {
        /// A file is not there or cannot be read.
        case unreadableFile
        /// `model.json` is not JSON.
        case notJSON
        /// A schema version this program does not know.
        case unknownSchemaVersion
        case missingKey
        case wrongType
        /// A number or text outside of what is allowed.
        case invalidValue
        /// A path that leaves the package folder.
        case unsafePath
        /// Something that has to be unique is there twice.
        case duplicate
        /// A name that is not among the labels or files.
        case unknownName
        case wrongSize
        case wrongDigest
        /// Loading was stopped from outside.
        case cancelled
    }

    public let code: Code
    /// The file at fault, as a path.
    public let file: String
    /// The place in `model.json`, for instance `labels[2].value`; nil when the fault is not in a key.
    public let key: String?
    public let expected: String
    public let found: String

    public init(code: Code, file: String, key: String? = nil, expected: String, found: String) {
        self.code = code
        self.file = file
        self.key = key
        self.expected = expected
        self.found = found
    }

    public var description: String {
        "\(file): \(key.map { "\($0): " } ?? "")expected \(expected), found \(found)"
    }
}
