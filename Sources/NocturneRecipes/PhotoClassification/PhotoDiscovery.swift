import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturnePipeline
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// Finds the photos below the inputs by their content, and what is known of the people, and says of every other file why
/// it is none.
struct PhotoDiscovery {
    let models: [PhotoClassificationModel]
    let options: PhotoClassificationOptions
    let scope: ComputeScope

    /// A photo, or a file that is none.
    private struct Found {
        let file: FoundFile
        let facts: Result<PhotoFacts, PhotoError>
        let stamp: String
    }

    func run(_ request: DiscoveryRequest) throws -> Discovery {
        var walk = FileWalk(request: request, flag: scope.flag)
        try walk.run()
        let found = try looked(at: files(of: walk))
        let table = try options.metadataPath.map { try MetadataTable(path: $0) }
        var items: [DiscoveredItem] = []
        for model in models {
            let known = metadata(for: found, table, model)
            for (found, metadata) in zip(found, known) { items.append(try item(found, metadata, table != nil, model)) }
        }
        return Discovery(items: items, notes: walk.notes)
    }

    /// What was walked over, without the metadata: they are no inputs.
    private func files(of walk: FileWalk) -> [FoundFile] {
        let all = Set(walk.files.map(\.path))
        let stems = Set(all.filter { !$0.hasSuffix(".json") }.map { ($0 as NSString).deletingPathExtension })
        return walk.files.filter { file in
            if file.path == options.metadataPath { return false }
            let isSidecar =
                file.path.hasSuffix(".json") && stems.contains((file.path as NSString).deletingPathExtension)
            return !isSidecar
        }
    }

    private func looked(at files: [FoundFile]) throws -> [Found] {
        let results = Mutex([Int: Found]())
        try scope.forEach(files.count) { index in
            let facts: Result<PhotoFacts, PhotoError>
            do throws(PhotoError) {
                facts = .success(try PhotoReader.readHeader(at: files[index].path))
            } catch {
                facts = .failure(error)
            }
            let found = Found(file: files[index], facts: facts, stamp: PhotoDiscovery.stamp(files[index]))
            results.withLock { $0[index] = found }
        }
        return results.withLock { results in files.indices.compactMap { results[$0] } }
    }

    /// A row of the table, else the file beside the picture.
    private func metadata(
        for found: [Found],
        _ table: MetadataTable?,
        _ model: PhotoClassificationModel
    ) -> [Result<ClinicalMetadata?, ClinicalMetadataFault>] {
        guard let settings = model.settings.metadata else { return found.map { _ in .success(nil) } }
        // Files that are no photos must not make a row of the table ambiguous.
        let photos = found.filter { (try? $0.facts.get()) != nil }
        let rows = table?.assign(photos.map(\.file.name), settings: settings) ?? photos.map { _ in .success(nil) }
        let byPath = Dictionary(uniqueKeysWithValues: zip(photos.map(\.file.path), rows))
        return found.map { found in
            guard let row = byPath[found.file.path] else { return .success(nil) }
            if case .success(nil) = row {
                do throws(ClinicalMetadataFault) {
                    let path = MetadataSidecar.path(of: found.file.path)
                    return .success(try MetadataSidecar.read(at: path, settings: settings))
                } catch {
                    return .failure(error)
                }
            }
            return row
        }
    }

    private func item(
        _ found: Found,
        _ metadata: Result<ClinicalMetadata?, ClinicalMetadataFault>,
        _ hasTable: Bool,
        _ model: PhotoClassificationModel
    ) throws -> DiscoveredItem {
        let id = model.package.id
        let known = try? metadata.get()
        let words = options.resultWords.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let text =
            [
                "nocturne photo 1", model.package.digest.hex, model.engineName, model.precision.rawValue, found.stamp,
                known.map { "\($0.age.map { "\($0)" } ?? "") \($0.sex.rawValue) \($0.site)" } ?? "none",
                hasTable ? "table" : "no table",
            ] + words
        var item = DiscoveredItem(
            key: "photo:" + found.file.path,
            name: (found.file.fileName as NSString).deletingPathExtension,
            model: id,
            source: "{}",
            path: found.file.path,
            fingerprint: ContentDigest.of(text.joined(separator: "\n"))
        )
        switch found.facts {
        case .failure(let error) where error.code == .notAPicture: item.problem = .unknown(error.detail)
        case .failure(let error): item.problem = .refused(error.detail)
        case .success(let facts):
            let side = min(facts.storedWidth, facts.storedHeight)
            if side < model.settings.minimumSide {
                item.problem = .refused(
                    "\(facts.storedWidth)×\(facts.storedHeight) pixels; \(id) asks for at least "
                        + "\(model.settings.minimumSide) on the shorter side"
                )
            } else if case .failure(let fault) = metadata {
                item.problem = .refused(fault.detail)
            }
            item.source = try ClassifiedPhotoSource(
                model: id,
                file: found.file.path,
                name: found.file.name,
                facts: facts,
                metadata: known,
                expectsMetadata: hasTable
            ).encoded
        }
        return item
    }

    /// What tells whether a file is still the same: name, size, time of change, and the content where it is small.
    private static func stamp(_ file: FoundFile) -> String {
        var status = stat()
        guard stat(file.path, &status) == 0 else { return "\(file.name) gone" }
        var text = "\(file.name) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        if status.st_size <= 64 << 10, let digest = try? FileSystem.digest(file.path) {
            text += " \(digest.digest.hex)"
        }
        return text
    }
}
