internal import Foundation
import NocturneSystem

extension ModelPackage {
    /// The name of the description file in a package folder.
    public static let documentName = "model.json"

    /// The supported version of `model.json`.
    public static let schemaVersion = 2

    /// Reads `model.json` of a folder and checks all its values, then the sizes and digests of the files it lists.
    ///
    /// The networks are not parsed. Reads all files once when digests are verified (about 1
    /// GB per second); blocks, so call it on a ``BlockingPool``.
    /// - Parameters:
    ///   - folder: The package folder.
    ///   - verifyDigests: Without it, sizes are checked but contents are not read.
    ///   - validate: Checks the task and its section, before the files are read; see ``ModelSettings``.
    public static func load(
        folder: String,
        verifyDigests: Bool = true,
        validate: (ModelPackage) throws(ModelPackageError) -> Void = { _ in }
    ) throws(ModelPackageError) -> ModelPackage {
        let file = folder + "/" + documentName
        let bytes = try document(at: file)
        let digest = ContentDigest.of(bytes)

        let data = Data(bytes)
        // Decoded on its own: a newer version may have other keys.
        let schema = try decode(ModelDocument.Version.self, from: data, file: file)
        let validation = ModelValidation(file: file)
        guard schema.schemaVersion.value == schemaVersion else {
            let found = schema.schemaVersion.value
            throw validation.refuse("schemaVersion", expected: "\(schemaVersion)", found: found)
        }
        let document = try decode(ModelDocument.self, from: data, file: file)
        try refuseUnknownKeys(in: try commonKeys(of: data, file: file), decoded: document, file: file)
        try validation.checkTexts(document)
        let package = ModelPackage(
            folder: folder,
            digest: digest,
            id: document.id,
            name: document.name,
            description: document.description ?? "",
            version: document.version,
            licence: document.licence,
            task: document.task,
            files: try validation.files(document),
            modalities: document.modalities ?? [],
            channels: try validation.channels(document),
            labels: try validation.labels(document),
            source: document.source,
            isDemonstration: document.demonstration ?? false,
            document: data
        )
        // Before the files are read, which takes much longer.
        try validate(package)
        for file in package.files { try check(file, in: folder, verifyDigest: verifyDigests) }
        return package
    }

    /// Checks for the values of this package's `model.json`.
    package var validation: ModelValidation { ModelValidation(file: folder + "/" + Self.documentName) }

    /// The section of a task, decoded; its values have not been checked yet.
    package func section<Section: Codable>(
        _ name: String,
        as type: Section.Type
    ) throws(ModelPackageError) -> Section {
        let file = validation.file
        let found = try Self.decode(SectionOfDocument<Section>.self, from: document, file: file, section: name)
        guard let section = found.section else {
            throw validation.refuse(name, .missingKey, expected: "a section for this task", found: "nothing")
        }
        let written = try Self.decode(JSONValue.self, from: document, file: file)
        try Self.refuseUnknownKeys(in: .object([name: written[name] ?? .null]), decoded: [name: section], file: file)
        return section
    }

    /// The members of `model.json` that may not be sections of tasks: all but objects, and `source`.
    private static func commonKeys(of data: Data, file: String) throws(ModelPackageError) -> JSONValue {
        guard case .object(var members) = try decode(JSONValue.self, from: data, file: file) else { return .null }
        members["schemaVersion"] = nil
        return .object(members.filter { if case .object = $0.value { $0.key == "source" } else { true } })
    }

    private static func refuseUnknownKeys(
        in written: JSONValue,
        decoded: some Encodable,
        file: String
    ) throws(ModelPackageError) {
        // What was decoded from JSON can be written as JSON.
        guard let data = try? JSONEncoder().encode(decoded) else { return }
        let known = try decode(JSONValue.self, from: data, file: file)
        guard let key = written.unknownKey(decoded: known) else { return }
        throw ModelPackageError(code: .unknownKey, file: file, key: key, expected: "a known key", found: "another")
    }

    /// The maximum size of a description: far more than needed, and far too small to fill the memory.
    private static let maximumDocumentBytes = 16 << 20

    private static func document(at file: String) throws(ModelPackageError) -> [UInt8] {
        let size = FileSystem.size(file) ?? 0
        guard size <= maximumDocumentBytes else {
            throw ModelPackageError(
                code: .damaged,
                file: file,
                expected: "at most \(maximumDocumentBytes) bytes",
                found: "\(size)"
            )
        }
        return try reading(file) { () throws(FileSystemError) in try FileSystem.read(file, limit: maximumDocumentBytes)
        }
    }

    private static func check(_ file: ModelFile, in folder: String, verifyDigest: Bool) throws(ModelPackageError) {
        let path = folder + "/" + file.path
        // Sizes first: an incomplete copy is found without reading it. A file without one is refused by the reading.
        if let size = FileSystem.size(path) {
            guard size == file.bytes else {
                throw ModelPackageError(
                    code: .damaged,
                    file: path,
                    expected: "\(file.bytes) bytes",
                    found: "\(size) bytes"
                )
            }
            guard verifyDigest else { return }
        }
        let found = try reading(path) { () throws(FileSystemError) in try FileSystem.digest(path).digest }
        guard found == file.sha256 else {
            throw ModelPackageError(
                code: .damaged,
                file: path,
                expected: "SHA-256 \(file.sha256)",
                found: found.hex
            )
        }
    }

    private static func reading<R>(
        _ path: String,
        _ body: () throws(FileSystemError) -> R
    ) throws(ModelPackageError) -> R {
        do { return try body() } catch {
            throw ModelPackageError(
                code: .unreadableFile,
                file: path,
                expected: "a readable file",
                found: error.isNotRegularFile ? "not a regular file" : errnoText(error.code)
            )
        }
    }

    private static func decode<T: Decodable>(
        _ type: T.Type,
        from data: Data,
        file: String,
        section: String = ""
    ) throws(ModelPackageError) -> T {
        do {
            let decoder = JSONDecoder()
            decoder.userInfo[sectionName] = section
            return try decoder.decode(type, from: data)
        } catch let error as DecodingError {
            throw explain(error, file: file)
        } catch {
            throw ModelPackageError(code: .notJSON, file: file, expected: "JSON", found: "\(error)")
        }
    }

    /// Converts an error of Foundation's decoder to the key, what was expected, and what was found.
    private static func explain(_ error: DecodingError, file: String) -> ModelPackageError {
        func failure(
            _ code: ModelPackageError.Code,
            _ path: [any CodingKey],
            _ expected: String,
            _ found: String
        ) -> ModelPackageError {
            ModelPackageError(code: code, file: file, key: keyPath(path), expected: expected, found: found)
        }
        switch error {
        case .keyNotFound(let key, let context):
            return failure(.missingKey, context.codingPath + [key], "a value", "nothing")
        case .valueNotFound(let type, let context):
            return failure(.invalidValue, context.codingPath, name(of: type), "null")
        case .typeMismatch(let type, let context):
            // "Expected to decode String but found number instead."
            let text = context.debugDescription
            let found = text.firstRange(of: "but found ").map {
                String(text[$0.upperBound...]).replacing(" instead.", with: "")
            }.map { $0.contains(" ") ? $0 : "a \($0)" }
            return failure(.invalidValue, context.codingPath, name(of: type), found ?? text)
        case .dataCorrupted(let context) where context.codingPath.isEmpty:
            return failure(.notJSON, [], "JSON", context.debugDescription)
        case .dataCorrupted(let context):
            return failure(.invalidValue, context.codingPath, "a valid value", context.debugDescription)
        @unknown default:
            return failure(.notJSON, [], "JSON", "\(error)")
        }
    }

    private static func name(of type: Any.Type) -> String {
        switch type {
        case is String.Type: "text"
        case is Bool.Type: "true or false"
        case is Int.Type: "a whole number"
        case is Double.Type: "a number"
        default: "\(type)".hasPrefix("Array") ? "a list" : "an object"
        }
    }

    /// The path of a key, such as `labels[2].value`; nil for the whole document.
    private static func keyPath(_ path: [any CodingKey]) -> String? {
        if path.isEmpty { return nil }
        return path.reduce("") { text, key in
            if let index = key.intValue { return "\(text)[\(index)]" }
            return text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)"
        }
    }
}

extension ModelPackage {
    /// The key of `userInfo` under which a ``SectionOfDocument`` finds its name.
    private static let sectionName = CodingUserInfoKey(rawValue: "section").unsafelyUnwrapped

    /// A document of which one section is decoded, so that errors include the section's name.
    fileprivate struct SectionOfDocument<Section: Decodable>: Decodable {
        let section: Section?

        private struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            let name = decoder.userInfo[ModelPackage.sectionName] as? String ?? ""
            section = try decoder.container(keyedBy: Key.self).decodeIfPresent(
                Section.self,
                forKey: Key(stringValue: name)
            )
        }
    }
}
