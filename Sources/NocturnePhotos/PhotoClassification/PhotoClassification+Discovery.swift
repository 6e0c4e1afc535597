import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneFormats
import NocturneInference
import NocturneJournal
package import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem
import Synchronization

extension PhotoClassification {
    /// Finds the photos in the inputs, and the metadata of the people in them.
    final class Discovery: InputClaims {
        private let models: [PhotoClassificationModel]
        private let options: Options
        private let files: InputFiles
        private let discovery: PhotoDiscovery
        private let scanned = Mutex<[PhotoDiscovery.ScannedFile]>([])

        init(
            _ models: [PhotoClassificationModel],
            _ options: Options,
            _ request: DiscoveryRequest,
            _ files: InputFiles,
            scope: ComputeScope
        ) {
            (self.models, self.options, self.files) = (models, options, files)
            discovery = PhotoDiscovery(request, limits: PhotoLimits(), scope: scope)
        }

        /// A row of the table is assigned with regard to all photos: they are one family.
        func claim(_ file: FoundFile) throws -> FileClaim {
            try isMetadata(file.path) ? .companion : discovery.claim(file, family: "photos")
        }

        /// Whether it is the metadata table or the sidecar file of a picture.
        private func isMetadata(_ path: String) throws -> Bool {
            if path == options.metadataPath { return true }
            guard path.hasSuffix(".json") else { return false }
            let stem = (path as NSString).deletingPathExtension
            func isRead(with picture: String) -> Bool { ClinicalMetadata.Reading.sidecarPath(of: picture) == path }
            return try isRead(with: stem) && files.contains(stem)
                || files.contains(beginning: stem + ".") {
                    !$0.hasSuffix(".json") && ($0 as NSString).deletingPathExtension == stem && isRead(with: $0)
                }
        }

        func soughtWords() -> [String: SoughtWords] { discovery.soughtWords() }

        func addItems(of families: [[FoundFile]], _ patients: PatientFolders, to items: FoundItems) throws {
            let found = try discovery.scanned(families.flatMap(\.self), patients)
            scanned.withLock { $0 += found }
        }

        func finish(_ items: FoundItems) throws -> [String] {
            // Only now all photos are known, on which the assignment of rows depends.
            let files = scanned.withLock { $0 }
            let table = try options.metadataPath.map { try MetadataTable(path: $0, flag: discovery.scope.flag) }
            let photos = files.filter(\.isPhoto).map(\.file.path)
            let takesMetadata = models.contains { $0.settings.metadata != nil }
            if takesMetadata, let path = options.metadataPath { try table?.checkMatches(photos, path: path) }
            var notes: [String] = []
            for (rank, model) in models.enumerated() {
                let (known, unusedSidecars) = try metadata(for: files, table, model)
                if model.settings.metadata != nil, !photos.isEmpty {
                    notes += try remarks(on: known, model)
                    if let note = remark(onUnusedSidecars: unusedSidecars), !notes.contains(note) { notes.append(note) }
                }
                // Items of one model stay together: ranks put those of the first model in front.
                let reader = PhotoDiscovery.Reader(model, options)
                for (scanned, metadata) in zip(files, known) {
                    try discovery.scope.check()
                    var item = try item(scanned, metadata, table != nil, reader)
                    item.rank = rank
                    try items.add(item)
                }
            }
            guard takesMetadata else { return [] }
            return (table.map { $0.notes + $0.rowNotes(photos) } ?? []) + notes
        }

        /// That a model lacks what it takes, or which values were not understood.
        /// - Throws: `BatchError` for a table of which no value was understood.
        private func remarks(
            on known: [Result<ClinicalMetadata.Reading?, ClinicalMetadata.ReadingError>],
            _ model: PhotoClassificationModel
        ) throws -> [String] {
            let readings = known.compactMap { try? $0.get() }
            // Metadata that could not be read are an error of their item, and not a reason to advise a table.
            let failed = known.contains { if case .failure = $0 { true } else { false } }
            if readings.isEmpty, !failed, options.metadataPath == nil {
                return ["\(model.package.id) also uses age, sex and site. Give a table of them with --metadata FILE"]
            }
            let faults = readings.flatMap(\.faults)
            // One example is named: a table can have a fault in every row.
            guard let first = faults.first else { return [] }
            let names: [(MetadataTable.Columns.Meaning, one: String, many: String)] = [
                (.age, "age", "ages"), (.sex, "sex", "sexes"), (.site, "site", "sites"),
            ]
            let counts = names.compactMap { meaning, one, many in
                let count = faults.count { $0.meaning == meaning }
                return count == 0 ? nil : counted(count, one, plural: many)
            }
            let text = "\(counts.joined(separator: ", ")) could not be read, such as \(first.value)"
            let step = "Write ages in years, sexes as male or female, and sites as parts of the body"
            if let path = options.metadataPath, !readings.contains(where: \.isKnown) {
                throw BatchError(
                    .inputMissing,
                    path: path,
                    detail: "no value of the table can be read: \(text). \(step)"
                )
            }
            // Of the table or of JSON files next to photos.
            return ["Metadata: \(text); \(faults.count == 1 ? "it counts" : "they count") as unknown. \(step)"]
        }

        /// That JSON files next to photos state nothing that is read.
        private func remark(onUnusedSidecars count: Int) -> String? {
            let files = count == 1 ? "JSON file next to a photo has" : "JSON files next to photos have"
            let fields = ClinicalMetadata.Reading.sidecarFields.joined(separator: ", ")
            return count == 0 ? nil : "\(count) \(files) none of the fields that are read: \(fields)"
        }

        /// From a row of the table, else from the sidecar file; and how many sidecar files have none of the fields that are read.
        private func metadata(
            for files: [PhotoDiscovery.ScannedFile],
            _ table: MetadataTable?,
            _ model: PhotoClassificationModel
        ) throws -> (
            readings: [Result<ClinicalMetadata.Reading?, ClinicalMetadata.ReadingError>], unusedSidecars: Int
        ) {
            guard let sites = model.settings.metadata else { return (files.map { _ in .success(nil) }, 0) }
            // Files that are not photos must not make a row of the table ambiguous.
            let photos = files.filter(\.isPhoto).map(\.file.path)
            let isStrict = options.requiresKnownMetadata
            let rows = table?.assign(photos, sites: sites, isStrict: isStrict) ?? photos.map { _ in .success(nil) }
            let byPath = Dictionary(uniqueKeysWithValues: zip(photos, rows))
            var unusedSidecars = 0
            let readings = try files.map { scanned in
                try discovery.scope.check()
                let path = ClinicalMetadata.Reading.sidecarPath(of: scanned.file.path)
                let row = byPath[scanned.file.path]
                guard case .success(nil)? = row, FileSystem.exists(path) else { return row ?? .success(nil) }
                do throws(ClinicalMetadata.ReadingError) {
                    let reading = try ClinicalMetadata.Reading.sidecar(at: path, sites: sites, isStrict: isStrict)
                    if reading == nil { unusedSidecars += 1 }
                    return .success(reading)
                } catch {
                    return .failure(error)
                }
            }
            return (readings, unusedSidecars)
        }

        private func item(
            _ scanned: PhotoDiscovery.ScannedFile,
            _ metadata: Result<ClinicalMetadata.Reading?, ClinicalMetadata.ReadingError>,
            _ hasTable: Bool,
            _ reader: PhotoDiscovery.Reader
        ) throws -> DiscoveredItem {
            let identifiers = discovery.request.identifiers
            let reading = try? metadata.get()
            let known = reading?.metadata
            // What the network is given in addition to the photo, and what of it becomes a note of the result.
            let parts =
                [
                    known.map { "\($0.age.map { "\($0)" } ?? "") \($0.sex.rawValue) \($0.site)" } ?? "none",
                    hasTable ? "table" : "no table",
                ] + (reading?.notes.texts ?? [])
            var item = try PhotoDiscovery.item(scanned, reader, identifiers, fingerprintParts: parts) { facts in
                try Source(
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
            // A fault of the photo is stated first: without a photo the metadata do not matter.
            if item.problem == nil, case .failure(let fault) = metadata {
                item.problem = .refused(.discovered(fault.faultCode, text: fault.detail))
            }
            return item
        }
    }

    /// What the recipe stores in the journal to locate a photo again and to plan for it without reading pixels.
    package struct Source: ItemSource {
        var photo: PhotoRecord
        /// Nil if none was given.
        var metadata: ClinicalMetadata?
        /// On values that were not understood or are assumed, and with them on the fields without a value; nil if there are no such values,
        /// and in journals of earlier versions.
        var metadataNotes: [Note]?
        /// Whether the run had any metadata.
        var expectsMetadata: Bool

        /// Those of the photo.
        package var identifiers: IdentifierPolicy? { photo.identifiers }
        /// Those of the photo.
        package var words: [String]? { photo.words }
        /// The photo alone.
        package var namedFiles: [String] { photo.namedFiles }

        init(photo: PhotoRecord, metadata reading: ClinicalMetadata.Reading?, expectsMetadata: Bool) {
            self.photo = photo
            metadata = reading?.metadata
            metadataNotes = reading.flatMap { reading in
                let unstated = reading.unstatedFields
                guard !reading.notes.isEmpty else { return nil }
                return reading.notes + (unstated.isEmpty ? [] : [ReportText.unknown(unstated)])
            }
            self.expectsMetadata = expectsMetadata
        }
    }
}
