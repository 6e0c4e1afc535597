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
    /// What is wrong with the key or the file; completes its name.
    public let detail: String

    /// - Parameter key: nil when the error does not concern a key.
    public init(code: Code, file: String, key: String? = nil, detail: String) {
        self.code = code
        self.file = file
        self.key = key
        self.detail = detail
    }

    /// - Parameter file: the path of `model.json`, of which a key is wrong.
    package init(_ fault: JSONFields.Fault, in file: String) {
        let code: Code =
            switch fault.kind {
            case .syntax: .notJSON
            case .missing: .missingKey
            case .unknown: .unknownKey
            case .invalid: .invalidValue
            }
        self.init(code: code, file: file, key: fault.field.isEmpty ? nil : fault.field, detail: fault.detail)
    }

    /// The file, the key, what is wrong with it, and what can be done.
    public var description: String {
        let next =
            switch code {
            case .unreadableFile, .damaged: "Copy the package again"
            case .notJSON, .missingKey: "Copy the package again, or correct the file"
            case .unknownKey: "Correct its name or its place, or remove it; a remark begins with _"
            case .invalidValue: "Correct the file"
            }
        return "\(file)\(key.map { ": \($0)" } ?? "") \(detail). \(next)"
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
