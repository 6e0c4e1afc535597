import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneRecipeSupport
import NocturneSystem
import Synchronization

/// Finds the pictures in the inputs by their first bytes, and gives the reason for every file that is not one.
struct PhotoDiscovery {
    /// A model that takes the pictures, with everything its results depend on besides the picture.
    struct Reader {
        let id: String
        /// Package digest, engine, precision, options.
        let fingerprintParts: [String]
        /// The minimum length of a picture's shorter side, in pixels.
        let minimumSide: Int
    }

    /// A file whose header was read.
    struct ScannedFile: Sendable {
        let file: FoundFile
        let facts: Result<PhotoFacts, PhotoError>
        /// Identifies the file's version.
        let stamp: String
        /// Of a DICOM photo.
        let patient: PatientIdentity?
        /// Words of its path by which its patient can be identified.
        var words: [String] = []

        /// How results show its names.
        func names(_ identifiers: IdentifierPolicy) -> ShownNames { ShownNames(identifiers, words: words) }
    }

    /// The prefix of the keys of photos.
    private static let keyPrefix = "photo:"

    /// Whether an item with this key is a photo.
    static func isPhoto(key: String) -> Bool { key.hasPrefix(keyPrefix) }

    /// The ids of the models.
    let models: [String]
    let limits: PhotoLimits
    let scope: ComputeScope

    /// - Returns: the files read, and notes, with items for unusable paths.
    /// - Parameter isInput: false for files that belong to the inputs but are not inputs.
    func scannedFiles(
        _ request: DiscoveryRequest,
        where isInput: ([FoundFile]) -> (FoundFile) -> Bool = { _ in { _ in true } }
    ) throws -> (files: [ScannedFile], rest: Discovery) {
        var walk = FileWalk(request: request, flag: scope.flag)
        try walk.run()
        let files = walk.files.filter(isInput(walk.files))
        let found = Mutex([Int: ScannedFile]())
        let limits = limits
        try scope.forEach(files.count) { index in
            let facts: Result<PhotoFacts, PhotoError>
            request.trace.willRead([files[index].path])
            do throws(PhotoError) {
                let header = try retryingTransientErrors(scope) { () throws(PhotoError) in
                    try PhotoReader.readHeader(at: files[index].path, limits: limits)
                }
                facts = .success(header)
            } catch {
                facts = .failure(error)
            }
            let isDICOM = (try? facts.get())?.format == .dicom
            let patient = isDICOM ? (try? DICOMObject.readHeader(path: files[index].path))?.patient : nil
            let scanned = ScannedFile(file: files[index], facts: facts, stamp: files[index].stamp, patient: patient)
            found.withLock { $0[index] = scanned }
        }
        request.trace.end()
        var scanned = found.withLock { found in files.indices.compactMap { found[$0] } }
        let patients = Self.patients(scanned, walk.paths, request)
        for index in scanned.indices { scanned[index].words = patients.words(of: scanned[index].file.path) }
        let rest = Discovery(items: models.flatMap(walk.unusable), notes: walk.notes, patients: patients)
        return (scanned, rest)
    }

    /// What identifies the patients of DICOM photos in paths.
    private static func patients(
        _ scanned: [ScannedFile],
        _ paths: some Sequence<String>,
        _ request: DiscoveryRequest
    ) -> PatientFolders {
        guard request.identifiers == .hash else { return PatientFolders() }
        var sought: [String: SoughtWords] = [:]
        for file in scanned {
            guard let own = file.patient?.sought else { continue }
            if sought[file.file.folderPath]?.formUnion(own) == nil { sought[file.file.folderPath] = own }
        }
        return sought.isEmpty ? PatientFolders() : PatientFolders(sought, paths: paths)
    }

    /// The item of one file for one model.
    /// - Parameters:
    ///   - fingerprintParts: what the result depends on besides the reader's part.
    ///   - source: what the recipe stores about a picture.
    static func item(
        _ scanned: ScannedFile,
        _ reader: Reader,
        _ identifiers: IdentifierPolicy,
        fingerprintParts: [String] = [],
        source: (PhotoFacts) throws -> String
    ) throws -> DiscoveredItem {
        let names = scanned.names(identifiers)
        let all = ["nocturne 1", names.fingerprint] + reader.fingerprintParts + fingerprintParts + [scanned.stamp]
        let baseName = (scanned.file.fileName as NSString).deletingPathExtension
        var item = DiscoveredItem(
            key: keyPrefix + scanned.file.path,
            name: names.itemName(baseName, key: scanned.file.path),
            model: reader.id,
            source: "{}",
            path: scanned.file.path,
            fingerprint: ContentDigest.of(all.joined(separator: "\n")),
            inputs: [InputStamp(scanned.file.path)]
        )
        item.words = scanned.words
        switch scanned.facts {
        case .failure(let error):
            item.name = names.itemName(scanned.file.fileName, key: scanned.file.path)
            if error.code == .notAPicture {
                item.key = DiscoveredItem.fileKeyPrefix + scanned.file.path
                item.problem = .unknown(.discovered(error.faultCode, error.detail))
            } else {
                item.problem = .refused(.discovered(error.faultCode, error.detail))
            }
        case .success(let facts):
            item.source = try source(facts)
            guard min(facts.storedWidth, facts.storedHeight) < reader.minimumSide else { return item }
            let text =
                "\(facts.storedWidth)×\(facts.storedHeight) pixels; \(reader.id) needs at least "
                + "\(reader.minimumSide) on the shorter side"
            item.problem = .refused(.discovered(.tooSmall, text))
        }
        return item
    }
}
