import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem
import Synchronization

/// Finds the pictures in the inputs by their first bytes, and gives the reason for every file that is not one. Every picture is an
/// item for every reader, with a ``PhotoRecord``.
final class PhotoDiscovery: InputClaims {
    /// A model that takes the pictures, with everything its results depend on besides the picture.
    struct Reader: Sendable {
        let id: String
        /// Package digest, engine, precision, options, and what the recipe adds.
        let fingerprintParts: [String]
        /// The minimum length of a picture's shorter side, in pixels.
        let minimumSide: Int

        init(_ model: some PhotoModel, _ options: some RecipeOptions, _ others: [String] = []) {
            id = model.package.id
            fingerprintParts = model.chosen.fingerprintParts + options.fingerprintTexts() + others
            minimumSide = model.minimumSide
        }
    }

    /// A file whose header was read.
    struct ScannedFile: Sendable {
        let file: FoundFile
        let facts: Result<PhotoFacts, PhotoError>
        /// Words of its path by which its patient can be identified.
        var words: [String] = []

        /// Whether its header could be read.
        var isPhoto: Bool { if case .success = facts { true } else { false } }

        /// How results show its names.
        func names(_ identifiers: IdentifierPolicy) -> ShownNames { ShownNames(identifiers, words: words) }
    }

    /// The prefix of the keys of photos.
    private static let keyPrefix = "photo:"

    /// Whether an item with this key is a photo.
    static func isPhoto(key: String) -> Bool { key.hasPrefix(keyPrefix) }

    let request: DiscoveryRequest
    let scope: ComputeScope
    private let readers: [Reader]
    private let limits: PhotoLimits
    private let kept = KeptHeaders<Result<PhotoFacts, PhotoError>>()
    private let sought = Mutex<[String: SoughtWords]>([:])

    /// - Parameter readers: of whose claims the items are made here.
    init(_ request: DiscoveryRequest, limits: PhotoLimits, readers: [Reader] = [], scope: ComputeScope) {
        (self.request, self.limits, self.readers, self.scope) = (request, limits, readers, scope)
    }

    // MARK: Claims

    func claim(_ file: FoundFile) -> FileClaim { claim(file, family: nil) }

    /// - Parameter family: of pictures, and of damaged ones.
    func claim(_ file: FoundFile, family: String?) -> FileClaim {
        guard !file.isUnresponsive else { return .none(request.silent.reason(for: file.path)) }
        // Read once, for the patient and for the picture.
        var (facts, isDICOM): (Result<PhotoFacts, PhotoError>, Bool)
        var modality: String?
        request.trace.willRead([file.path])
        do throws(DICOMReadError) {
            let object = try DICOMObject.readHeader(ifDICOM: file.path)
            if let words = object?.patient?.sought { keep(words, below: file.folderPath) }
            (facts, isDICOM, modality) = (self.facts(of: file, object), object != nil, object?.modality)
        } catch {
            (facts, isDICOM) = (self.facts(of: file), error.code != .notOpened)
            // A DICOM photo whose patient is unknown is refused: its path may have the patient's name.
            if case .success(let photo) = facts, isDICOM || photo.format == .dicom {
                facts = .failure(PhotoError(.cannotRead, path: file.path, error.detail))
            }
        }
        if case .failure(let error) = facts, error.code == .notAPicture {
            if VolumeFileFormat(ofName: file.path) != nil {
                return .none(.discovered(.volume, "a volume; this model takes photos"))
            }
            guard isDICOM else { return .none(.discovered(error.faultCode, text: error.detail)) }
            // Models for volumes do not take other DICOM objects either, such as ultrasound images.
            guard let modality, ["CT", "MR", "PT"].contains(modality) else {
                return .none(.discovered(.notForModel, text: error.detail))
            }
            return .none(.discovered(.volume, "a CT, MR or PET image; this model takes photos"))
        }
        kept.keep(facts, of: file.path)
        return .member(family: family)
    }

    /// Keeps what the header of a DICOM file states of its patient, so that it is withheld from paths.
    private func keep(_ words: SoughtWords, below folder: String) {
        sought.withLock { sought in
            if sought[folder]?.formUnion(words) == nil { sought[folder] = words }
        }
    }

    private func facts(of file: FoundFile, _ object: DICOMObject? = nil) -> Result<PhotoFacts, PhotoError> {
        request.trace.willRead([file.path])
        do throws(PhotoError) {
            return .success(
                try retryingTransientErrors(scope) { () throws(PhotoError) in
                    try PhotoReader.readHeader(at: file.path, limits: limits, object: object)
                }
            )
        } catch {
            return .failure(error)
        }
    }

    /// What headers state of patients, by the folders of their files.
    func soughtWords() -> [String: SoughtWords] { sought.withLock { $0 } }

    /// The headers of claimed files.
    func scanned(_ files: [FoundFile], _ patients: PatientFolders) throws -> [ScannedFile] {
        let found = try scope.map(files.count) { index in
            let file = files[index]
            let facts = kept.take(file.path) ?? facts(of: file)
            return ScannedFile(file: file, facts: facts, words: patients.words(of: file.path))
        }
        request.trace.end()
        return found
    }

    // MARK: Items

    func addItems(of families: [[FoundFile]], _ patients: PatientFolders, to items: FoundItems) throws {
        let files = try scanned(families.flatMap(\.self), patients)
        for (rank, reader) in readers.enumerated() {
            for scanned in files {
                var item = try Self.item(scanned, reader, request.identifiers) { facts in
                    try PhotoRecord(model: reader.id, scanned, facts: facts, identifiers: request.identifiers).encoded
                }
                item.rank = rank
                try items.add(item)
            }
        }
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
        let stamp = scanned.file.stamp
        let all = ["nocturne 1", names.fingerprint] + reader.fingerprintParts + fingerprintParts + [stamp.text]
        let baseName = (scanned.file.fileName as NSString).deletingPathExtension
        var item = DiscoveredItem(
            key: keyPrefix + scanned.file.path,
            name: names.itemName(baseName, key: scanned.file.path),
            model: reader.id,
            path: scanned.file.path,
            fingerprint: ContentDigest.of(all.joined(separator: "\n")),
            inputs: [stamp.input]
        )
        (item.words, item.order) = (scanned.words, scanned.file.path)
        switch scanned.facts {
        case .failure(let error):
            item.name = names.itemName(scanned.file.fileName, key: scanned.file.path)
            item.problem = .refused(.discovered(error.faultCode, text: error.detail))
        case .success(let facts):
            item.source = try source(facts)
            guard min(facts.storedWidth, facts.storedHeight) < reader.minimumSide else { return item }
            let text: Sentence =
                "\(facts.storedWidth)×\(facts.storedHeight) pixels; \(own: reader.id) needs at least "
                + "\(reader.minimumSide) on the shorter side"
            item.problem = .refused(.discovered(.tooSmall, text))
        }
        return item
    }
}
