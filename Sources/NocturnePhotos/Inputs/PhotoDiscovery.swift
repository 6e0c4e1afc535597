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
            let scanned = ScannedFile(file: files[index], facts: facts, stamp: files[index].stamp)
            found.withLock { $0[index] = scanned }
        }
        request.trace.end()
        let rest = Discovery(items: models.flatMap(walk.unusable), notes: walk.notes)
        return (found.withLock { found in files.indices.compactMap { found[$0] } }, rest)
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
        let all = ["nocturne 1", identifiers.rawValue] + reader.fingerprintParts + fingerprintParts + [scanned.stamp]
        let baseName = (scanned.file.fileName as NSString).deletingPathExtension
        var item = DiscoveredItem(
            key: keyPrefix + scanned.file.path,
            name: identifiers.itemName(baseName, key: scanned.file.path),
            model: reader.id,
            source: "{}",
            path: scanned.file.path,
            fingerprint: ContentDigest.of(all.joined(separator: "\n")),
            inputs: [InputStamp(scanned.file.path)]
        )
        switch scanned.facts {
        case .failure(let error):
            item.name = identifiers.itemName(scanned.file.fileName, key: scanned.file.path)
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
