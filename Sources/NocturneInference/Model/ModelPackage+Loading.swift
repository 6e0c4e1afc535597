package import NocturneSystem

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
        let package: ModelPackage
        do throws(JSONFields.Fault) {
            package = try ModelPackage(
                JSONFields(parsing: bytes, allowsRemarks: true),
                folder: folder,
                digest: ContentDigest.of(bytes)
            )
        } catch {
            throw ModelPackageError(error, in: file)
        }
        // Before the files are read, which takes much longer.
        try validate(package)
        for file in package.files { try check(file, in: folder, verifyDigest: verifyDigests) }
        return package
    }

    /// The keys that all tasks have in common.
    private static let keys = [
        "schemaVersion", "id", "name", "description", "version", "licence", "task", "files", "modalities", "channels",
        "labels", "source", "demonstration",
    ]

    private init(_ document: JSONFields, folder: String, digest: ContentDigest) throws(JSONFields.Fault) {
        // First: another version may have other keys.
        let version = try document.whole("schemaVersion", in: 0...Int.max)
        guard version == Self.schemaVersion else {
            let own = "\(Self.schemaVersion), the version that this program reads"
            throw document.fault("schemaVersion", is: version, not: own)
        }
        // Each task has an object, its section, which is read with ``section(_:_:)``.
        try document.only(Self.keys, allowsObjects: true)
        self.init(
            folder: folder,
            digest: digest,
            id: try document.safeName("id"),
            name: try document.nonEmptyString("name"),
            description: document.has("description") ? try document.string("description") : "",
            version: try document.nonEmptyString("version"),
            licence: try document.nonEmptyString("licence"),
            task: try document.string("task"),
            files: try document.files(),
            modalities: try document.modalities(),
            channels: try document.channels(),
            labels: try document.labels(),
            source: try document.source(),
            isDemonstration: try document.boolean("demonstration", false),
            sections: document.omitting(Self.keys)
        )
    }

    /// The error for a member of `model.json`.
    package func refused(_ key: String, _ detail: String) -> ModelPackageError {
        error(sections.fault(key, detail))
    }

    /// The error for a member of `model.json` that is another than was expected.
    package func refused(_ key: String, is found: some Any, not expected: String) -> ModelPackageError {
        error(sections.fault(key, is: found, not: expected))
    }

    private func error(_ fault: JSONFields.Fault) -> ModelPackageError {
        ModelPackageError(fault, in: folder + "/" + Self.documentName)
    }

    /// What the section of a task becomes.
    /// - Throws: the error for what is wrong with the section, that there is none, or that there is another object next to it, such
    ///   as a key of the section in the wrong place.
    package func section<Settings>(
        _ name: String,
        _ read: (JSONFields) throws(JSONFields.Fault) -> Settings
    ) throws(ModelPackageError) -> Settings {
        do throws(JSONFields.Fault) {
            let section = try sections.object(name)
            try sections.only(Self.keys + [name])
            return try read(section)
        } catch {
            throw self.error(error)
        }
    }

    /// The maximum size of a description: far more than needed, and far too small to fill the memory.
    private static let maximumDocumentBytes = 16 << 20

    private static func document(at file: String) throws(ModelPackageError) -> [UInt8] {
        let size = FileSystem.size(file) ?? 0
        guard size <= maximumDocumentBytes else {
            let detail = "is damaged: it has \(size) bytes, more than \(maximumDocumentBytes)"
            throw ModelPackageError(code: .damaged, file: file, detail: detail)
        }
        return try reading(file) { () throws(FileSystemError) in try FileSystem.read(file, limit: maximumDocumentBytes)
        }
    }

    private static func check(_ file: ModelFile, in folder: String, verifyDigest: Bool) throws(ModelPackageError) {
        let path = folder + "/" + file.path
        // Sizes first: an incomplete copy is found without reading it. A file without one is refused by the reading.
        if let size = FileSystem.size(path) {
            guard size == file.bytes else {
                throw damaged(path, expected: "\(file.bytes) bytes", found: "\(size) bytes")
            }
            guard verifyDigest else { return }
        }
        let found = try reading(path) { () throws(FileSystemError) in try FileSystem.digest(path).digest }
        guard found == file.sha256 else {
            throw damaged(path, expected: "SHA-256 \(file.sha256)", found: found.hex)
        }
    }

    private static func damaged(_ path: String, expected: String, found: String) -> ModelPackageError {
        ModelPackageError(code: .damaged, file: path, detail: "is damaged: expected \(expected), found \(found)")
    }

    private static func reading<R>(
        _ path: String,
        _ body: () throws(FileSystemError) -> R
    ) throws(ModelPackageError) -> R {
        do { return try body() } catch {
            let reason = error.isNotRegularFile ? "not a regular file" : errnoText(error.code)
            throw ModelPackageError(code: .unreadableFile, file: path, detail: "cannot be read: \(reason)")
        }
    }
}
