import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneRecipeSupport
import NocturneSystem

/// Finds the photos in the inputs, and the metadata of the people in them.
struct ClassifiedPhotoDiscovery {
    let models: [PhotoClassificationModel]
    let options: PhotoClassificationOptions
    let scope: ComputeScope

    func run(_ request: DiscoveryRequest) throws -> Discovery {
        let discovery = PhotoDiscovery(models: models.map(\.package.id), limits: PhotoLimits(), scope: scope)
        let (files, rest) = try discovery.scannedFiles(request, where: isNotMetadata)
        let table = try options.metadataPath.map { try MetadataTable(path: $0) }
        var items = FileBackedList<DiscoveredItem>()
        for model in models {
            let known = metadata(for: files, table, model)
            for (scanned, metadata) in zip(files, known) {
                items.append(try item(scanned, metadata, table != nil, model, request.identifiers))
            }
        }
        let takesMetadata = models.contains { $0.settings.metadata != nil }
        let photos = files.filter { (try? $0.facts.get()) != nil }.map(\.file.name)
        let remarks = takesMetadata ? (table?.notes ?? []) + [table?.unmatchedRows(photos)].compactMap(\.self) : []
        items.append(contentsOf: rest.items)
        return Discovery(items: items, notes: rest.notes + remarks, patients: rest.patients)
    }

    /// Excludes the metadata table and the sidecar files of pictures, which are not inputs.
    private func isNotMetadata(_ files: [FoundFile]) -> (FoundFile) -> Bool {
        let pictures = files.lazy.map(\.path).filter { !$0.hasSuffix(".json") }
        let stems = Set(pictures.map { ($0 as NSString).deletingPathExtension })
        return { file in
            if file.path == options.metadataPath { return false }
            return !file.path.hasSuffix(".json") || !stems.contains((file.path as NSString).deletingPathExtension)
        }
    }

    /// From a row of the table, else from the sidecar file.
    private func metadata(
        for files: [PhotoDiscovery.ScannedFile],
        _ table: MetadataTable?,
        _ model: PhotoClassificationModel
    ) -> [Result<ClinicalMetadataReading?, ClinicalMetadataError>] {
        guard let settings = model.settings.metadata else { return files.map { _ in .success(nil) } }
        // Files that are not photos must not make a row of the table ambiguous.
        let photos = files.filter { (try? $0.facts.get()) != nil }
        let isStrict = options.requiresKnownMetadata
        let rows =
            table?.assign(photos.map(\.file.name), settings: settings, isStrict: isStrict)
            ?? photos.map { _ in .success(nil) }
        let byPath = Dictionary(uniqueKeysWithValues: zip(photos.map(\.file.path), rows))
        return files.map { scanned in
            guard let row = byPath[scanned.file.path] else { return .success(nil) }
            if case .success(nil) = row {
                do throws(ClinicalMetadataError) {
                    let path = MetadataSidecar.path(of: scanned.file.path)
                    return .success(try MetadataSidecar.read(at: path, settings: settings, isStrict: isStrict))
                } catch {
                    return .failure(error)
                }
            }
            return row
        }
    }

    private func item(
        _ scanned: PhotoDiscovery.ScannedFile,
        _ metadata: Result<ClinicalMetadataReading?, ClinicalMetadataError>,
        _ hasTable: Bool,
        _ model: PhotoClassificationModel,
        _ identifiers: IdentifierPolicy
    ) throws -> DiscoveredItem {
        let reading = try? metadata.get()
        let known = reading?.metadata
        let options = options.shownInResults.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let reader = PhotoDiscovery.Reader(
            id: model.package.id,
            fingerprintParts: [model.package.digest.hex, model.engineName, model.precision.rawValue] + options,
            minimumSide: model.settings.minimumSide
        )
        let parts =
            [
                known.map { "\($0.age.map { "\($0)" } ?? "") \($0.sex.rawValue) \($0.site)" } ?? "none",
                hasTable ? "table" : "no table",
            ] + (reading?.notes ?? [])
        var item = try PhotoDiscovery.item(scanned, reader, identifiers, fingerprintParts: parts) { facts in
            try ClassifiedPhotoSource(
                photo: PhotoRecord(
                    model: reader.id,
                    scanned,
                    facts: facts,
                    inBands: true,
                    identifiers: identifiers
                ),
                metadata: reading,
                expectsMetadata: hasTable
            ).encoded
        }
        if item.problem == nil, case .failure(let fault) = metadata {
            item.problem = .refused(.discovered(fault.faultCode, fault.detail))
        }
        return item
    }
}
