internal import Foundation
import NocturneConcurrency
internal import NocturneCore
public import NocturneSystem

extension ModelPackage {
    /// The name of the description in a package folder.
    public static let documentName = "model.json"

    /// The version of `model.json` that is read.
    public static let schemaVersion = 2

    /// Reads `model.json` of a folder and checks everything it says, then the sizes and digests of the files it names.
    ///
    /// The networks are not parsed. Unknown keys are passed over. Reads all files once when digests are verified (about
    /// 1 GB a second), with a buffer of 1 MiB; blocks, so call it on a ``BlockingPool``.
    /// - Parameters:
    ///   - folder: The package folder.
    ///   - verifyDigests: Without it, sizes are checked but contents are not read.
    ///   - flag: Looked at between blocks of 1 MiB.
    public static func load(
        folder: String,
        verifyDigests: Bool = true,
        flag: CancellationFlag = CancellationFlag()
    ) throws(ModelPackageError) -> ModelPackage {
        let file = folder + "/" + documentName
        let bytes = try document(at: file)
        var digester = ContentDigester()
        digester.update(bytes)
        let digest = digester.finish()

        let data = Data(bytes)
        let schema = try decode(ModelSchemaVersion.self, from: data, file: file)
        guard schema.schemaVersion.value == schemaVersion else {
            throw ModelPackageError(
                code: .unknownSchemaVersion,
                file: file,
                key: "schemaVersion",
                expected: "\(schemaVersion)",
                found: "\(schema.schemaVersion.value)"
            )
        }
        let document = try decode(ModelDocument.self, from: data, file: file)
        let validation = ModelValidation(file: file, document: document)
        try validation.texts()
        let task = try validation.task()
        let isVolume = task == .volumeSegmentation
        let files = try validation.files()
        let channels = try validation.channels(required: isVolume)
        let labels = try validation.labels(required: isVolume)
        let settings =
            isVolume ? try validation.volumeSegmentation(files: files, channels: channels, labels: labels) : nil
        let photos = task == .photoClassification ? try validation.photoClassification(files: files) : nil
        let instances = task == .photoInstances ? try validation.photoInstances(files: files) : nil
        for file in files { try check(file, in: folder, verifyDigest: verifyDigests, flag: flag) }
        return ModelPackage(
            folder: folder,
            digest: digest,
            id: document.id,
            name: document.name,
            description: document.description ?? "",
            version: document.version,
            licence: document.licence,
            task: task,
            files: files,
            modalities: document.modalities ?? [],
            channels: channels,
            labels: labels,
            volumeSegmentation: settings,
            photoClassification: photos,
            photoInstances: instances
        )
    }

    /// The most bytes a description may have: far above any, far below what would fill the memory.
    private static let largestDocument = 16 << 20

    private static func document(at file: String) throws(ModelPackageError) -> [UInt8] {
        let size = try sizeOfRegularFile(file)
        guard size <= largestDocument else {
            throw ModelPackageError(
                code: .wrongSize,
                file: file,
                expected: "at most \(largestDocument) bytes",
                found: "\(size)"
            )
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        try read(file, flag: CancellationFlag()) { block in
            // The file may have grown since it was measured.
            if bytes.count + block.count <= largestDocument { bytes.append(contentsOf: block) }
        }
        return bytes
    }

    private static func check(
        _ file: ModelFile,
        in folder: String,
        verifyDigest: Bool,
        flag: CancellationFlag
    ) throws(ModelPackageError) {
        let path = folder + "/" + file.path
        let size = try sizeOfRegularFile(path)
        guard size == file.bytes else {
            throw ModelPackageError(
                code: .wrongSize,
                file: path,
                expected: "\(file.bytes) bytes",
                found: "\(size) bytes"
            )
        }
        guard verifyDigest else { return }
        var digester = ContentDigester()
        try read(path, flag: flag) { digester.update($0) }
        let found = digester.finish()
        guard found == file.sha256 else {
            throw ModelPackageError(
                code: .wrongDigest,
                file: path,
                expected: "SHA-256 \(file.sha256)",
                found: found.hex
            )
        }
    }

    private static func sizeOfRegularFile(_ path: String) throws(ModelPackageError) -> Int {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw ModelPackageError(
                code: .unreadableFile,
                file: path,
                expected: "a file",
                found: String(cString: strerror(errno))
            )
        }
        // A pipe or device could block for ever.
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw ModelPackageError(
                code: .unreadableFile,
                file: path,
                expected: "a regular file",
                found: "another kind of entry"
            )
        }
        return Int(status.st_size)
    }

    private static func read(
        _ path: String,
        flag: CancellationFlag,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(ModelPackageError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw ModelPackageError(
                code: .unreadableFile,
                file: path,
                expected: "a readable file",
                found: String(cString: strerror(errno))
            )
        }
        defer { close(descriptor) }
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 64)
        defer { block.deallocate() }
        while true {
            if flag.isCancelled {
                throw ModelPackageError(code: .cancelled, file: path, expected: "to be read", found: "a cancellation")
            }
            let count = Foundation.read(descriptor, block.baseAddress, block.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw ModelPackageError(
                    code: .unreadableFile,
                    file: path,
                    expected: "a readable file",
                    found: String(cString: strerror(errno))
                )
            }
            if count == 0 { return }
            body(UnsafeRawBufferPointer(rebasing: block[..<count]))
        }
    }

    private static func decode<T: Decodable>(
        _ type: T.Type,
        from data: Data,
        file: String
    ) throws(ModelPackageError) -> T {
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch let error as DecodingError {
            throw explain(error, file: file)
        } catch {
            throw ModelPackageError(code: .notJSON, file: file, expected: "JSON", found: "\(error)")
        }
    }

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
            return failure(.wrongType, context.codingPath, name(of: type), "null")
        case .typeMismatch(let type, let context):
            // "Expected to decode String but found number instead."
            let text = context.debugDescription
            let found = text.firstRange(of: "but found ").map {
                String(text[$0.upperBound...]).replacing(" instead.", with: "")
            }
            return failure(.wrongType, context.codingPath, name(of: type), found ?? text)
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
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is Int.Type: "a whole number"
        case is Double.Type: "a number"
        default: "\(type)".hasPrefix("Array") ? "a list" : "an object"
        }
    }

    /// `labels[2].value`; nil for the whole document.
    private static func keyPath(_ path: [any CodingKey]) -> String? {
        if path.isEmpty { return nil }
        return path.reduce("") { text, key in
            if let index = key.intValue { return "\(text)[\(index)]" }
            return text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)"
        }
    }
}
