public import NocturneSystem

/// Why a model package is refused: which file, which key in it, what was expected and what was found.
public struct ModelPackageError: CodedError, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error. New kinds may be added.
    public enum Code: String, Hashable, Sendable {
        /// A file does not exist or cannot be read.
        case unreadableFile
        /// `model.json` is not JSON.
        case notJSON
        /// A key that is required is not there.
        case missingKey
        /// A key that is not one of this schema version: a misspelt one would leave its default in place.
        case unknownKey
        /// A value of another JSON type, or one that is not allowed there.
        case invalidValue
        /// A file has another size or SHA-256 than `model.json` states.
        case damaged
    }

    /// A file of the package is missing, damaged or not as this version expects it.
    public var faultCode: FaultCode { FaultCode("model", "packageUnusable") }

    /// The kind of error.
    public let code: Code
    /// The path of the file that caused the error.
    public let file: String
    /// The key in `model.json`, for instance `labels[2].value`; nil when the error does not concern a key.
    public let key: String?
    /// What a package must have there.
    public let expected: String
    /// What it has, shortened to 80 characters where it comes from the file.
    public let found: String

    /// - Parameter key: nil when the error does not concern a key.
    public init(code: Code, file: String, key: String? = nil, expected: String, found: String) {
        self.code = code
        self.file = file
        self.key = key
        self.expected = expected
        self.found = found
    }

    /// The file, the key, what was expected and found, and for damaged files what can be done.
    public var description: String {
        switch code {
        case .unreadableFile: "\(file) cannot be read: \(found). Copy the package again"
        case .notJSON: "\(file) is not valid JSON. Copy the package again, or correct the file"
        case .damaged:
            "\(file) is damaged: expected \(expected), found \(found). Copy the package again"
        case .missingKey:
            "\(file): \(key ?? "a key") is missing (expected \(expected)). Copy the package again, or correct the file"
        case .unknownKey:
            "\(file): \(key ?? "a key") is unknown. Correct its name, or remove it; a remark begins with _"
        case .invalidValue:
            "\(file): \(key.map { "\($0): " } ?? "")expected \(expected), found \(found). Correct the file"
        }
    }
}

/// Why a package, valid as such, cannot be used by a recipe.
public struct UnusablePackageError: Error, Sendable, CustomStringConvertible {
    /// The id of the package.
    public let package: String
    /// The fact, without the package's name.
    public let detail: String

    /// For people: the package and the fact.
    public var description: String { "model \(package): \(detail)" }

    /// - Parameter detail: completes "model ID:".
    package init(package: String, detail: String) {
        self.package = package
        self.detail = detail
    }
}

extension ModelPackage {
    /// - Parameter purpose: completes "not for".
    /// - Throws: ``UnusablePackageError`` for a package of another task.
    package func require(task: String, for purpose: String) throws(UnusablePackageError) {
        guard self.task == task else {
            throw UnusablePackageError(package: id, detail: "is for \(self.task), not for \(purpose)")
        }
    }
}

extension Sequence {
    /// The model of a package, among those of a run.
    /// - Throws: ``UnusablePackageError`` for a model of another run.
    package func ofPackage(
        _ id: String,
        _ package: (Element) -> ModelPackage
    ) throws(UnusablePackageError) -> Element {
        guard let model = first(where: { package($0).id == id }) else {
            throw UnusablePackageError(package: id, detail: "is not among the models of this run")
        }
        return model
    }
}
