import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// Finds the segmentations, structure sets and label maps in the inputs, and the images they refer to.
struct ExistingDiscovery {
    let options: ExistingLabelsOptions
    let scope: ComputeScope

    func run(_ request: DiscoveryRequest) throws -> Discovery {
        var walk = FileWalk(request: request, flag: scope.flag)
        try walk.run()
        let others = walk.files.filter { !VolumeDiscovery.isNIfTIName($0.fileName) }
        let (scan, files) = try DICOMFiles.scan(others, request, rules: DICOMSeriesRules(), scope: scope)
        let patients = DICOMFiles.patients(scan, walk.paths, request)
        var items = walk.unusable(model: ExistingLabels.model)
        let maps = try LabelMapDiscovery(options: options, request: request, patients: patients, scope: scope)
            .run(walk.files.filter { VolumeDiscovery.isNIfTIName($0.fileName) })
        items += maps.items + maps.others.map { otherFile($0, request, noLabelMap) }
        items += (scan.rejectedFiles.map(\.path) + scan.notDICOM).compactMap { files[$0] }.map {
            otherFile($0, request)
        }
        let images = SourceImages(scan.series)
        for series in scan.series {
            try scope.check()
            let objects = LabelObject.objects(of: series)
            for object in objects {
                guard let file = files[object.path] else { continue }
                request.trace.willRead([file.path])
                items.append(
                    try item(object, file, images, files, (request.identifiers, patients.words(of: file.path)))
                )
            }
            // The images of a series are reported as one item.
            let taken = Set(objects.map(\.path))
            let rest = series.files.compactMap { taken.contains($0) ? nil : files[$0] }
            if let first = rest.min() {
                items.append(otherFile(first, request, isSeries: rest.count > 1))
            }
        }
        request.trace.end()
        return Discovery(
            items: items.sorted { ($0.path, $0.key) < ($1.path, $1.key) },
            notes: walk.notes,
            patients: patients
        )
    }

    private let noLabelMap =
        "not a label map by its folder, its header or its name; --label-images names the folder of the images"

    private func otherFile(
        _ file: FoundFile,
        _ request: DiscoveryRequest,
        _ reason: String = "neither a DICOM segmentation nor a structure set",
        isSeries: Bool = false
    ) -> DiscoveredItem {
        let key = DiscoveredItem.fileKeyPrefix + file.path
        return DiscoveredItem(
            key: key,
            name: request.shownNames.itemName(isSeries ? file.folderName : file.fileName, key: key),
            model: ExistingLabels.model,
            source: "{}",
            path: isSeries ? file.folderPath : file.path,
            fingerprint: ContentDigest.of(key),
            inputs: [InputStamp(file.path)],
            problem: .unknown(.discovered(.unknownFormat, reason))
        )
    }

    // MARK: Items

    private func item(
        _ object: LabelObject,
        _ file: FoundFile,
        _ images: SourceImages,
        _ files: FoundFiles,
        _ shown: (policy: IdentifierPolicy, words: [String])
    ) throws -> DiscoveredItem {
        let key = "labels:" + file.path
        let names = ShownNames(shown.policy, words: shown.words)
        var item = DiscoveredItem(
            key: key,
            name: names.itemName((file.fileName as NSString).deletingPathExtension, key: key),
            model: ExistingLabels.model,
            source: "{}",
            path: file.path,
            fingerprint: ContentDigest.of(key),
            inputs: [InputStamp(file.path)]
        )
        item.words = shown.words
        do {
            let found: Found
            switch object.kind {
            case .segmentation: found = try segmentation(file, images)
            case .structureSet: found = try structureSet(file, images)
            case .labelMap: return item
            }
            var source = found.source
            source.name = names.shown(file.name)
            source.identifiers = shown.policy
            source.words = shown.words.isEmpty ? nil : shown.words
            let slices = found.series?.files.compactMap { files[$0] } ?? []
            source.image = found.series.flatMap { VolumeSource($0, files: slices, model: ExistingLabels.model) }
            source.image?.notes = nil
            let optionTexts = options.shownInResults.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let stamps = [file.stamp] + slices.map(\.stamp)
            item.fingerprint = ContentDigest.of(
                (["nocturne existing labels 1", names.fingerprint] + optionTexts + stamps).joined(separator: "\n")
            )
            item.inputs += slices.map { InputStamp($0.path) }
            do { item.source = try source.encoded } catch {
                item.problem = .refused(.discovered(.notRecordable, "its metadata cannot be encoded: \(error)"))
            }
        } catch let error as DICOMReadError {
            let reason = ItemReason.discovered(error.faultCode, error.detail)
            item.problem = error.code == .otherObject ? .setAside(reason) : .refused(reason)
        }
        return item
    }

    private typealias Found = (source: ExistingSource, series: DICOMSeries?)

    private func segmentation(_ file: FoundFile, _ images: SourceImages) throws(DICOMReadError) -> Found {
        let path = file.path
        let own: Result<DICOMSegmentationHeader, DICOMReadError>
        do throws(DICOMReadError) {
            own = .success(try DICOMSegmentationReader.readHeader(path: path, limits: ExistingSource.limits))
        } catch {
            // Frames that do not form a grid of their own may still lie on the images' grid.
            own = .failure(error)
        }
        let named = (try? own.get()).map { ($0.referencedSeriesUID, $0.frameOfReferenceUID) }
        let candidates = images.candidates(series: named?.0 ?? "", images: [], frameOfReference: named?.1 ?? "")
        var fitting: [(series: DICOMSeries, header: DICOMSegmentationHeader)] = []
        for series in candidates.series {
            guard let geometry = series.geometry,
                let header = try? DICOMSegmentationReader.readHeader(
                    path: path,
                    on: geometry,
                    limits: ExistingSource.limits
                )
            else { continue }
            fitting.append((series, header))
        }
        let chosen = candidates.isNamed || fitting.count == 1 ? fitting.first : nil
        let header: DICOMSegmentationHeader
        if let chosen { header = chosen.header } else { header = try own.get() }
        let notes = chosen == nil ? [candidates.reason(fits: fitting.count)] : []
        return (
            ExistingSource(
                kind: .segmentation,
                path: path,
                name: "",
                geometry: header.geometry,
                volumes: ExistingSource.volumes(atMost: header.maximumVolumeCount, of: header.geometry.shape),
                labels: header.segments.count,
                bytes: FileSystem.size(path) ?? 0,
                notes: notes
            ),
            chosen?.series
        )
    }

    private func structureSet(_ file: FoundFile, _ images: SourceImages) throws -> Found {
        let set = try DICOMStructureSetReader.read(path: file.path, limits: ExistingSource.limits, flag: scope.flag)
        let frame =
            set.frameOfReferenceUID.isEmpty
            ? set.regions.map(\.frameOfReferenceUID).first { !$0.isEmpty } ?? "" : set.frameOfReferenceUID
        let candidates = images.candidates(
            series: set.referencedSeriesUID,
            images: Set(set.referencedImageUIDs),
            frameOfReference: frame
        )
        let chosen = candidates.isNamed || candidates.series.count == 1 ? candidates.series.first : nil
        var notes: [String] = []
        if let chosen {
            let missing = set.missingImages(among: Set(chosen.slices.map(\.object.sopInstanceUID))).count
            if missing > 0 { notes.append("\(missing) of the images it refers to are not among the inputs") }
        } else {
            notes.append(candidates.reason(fits: candidates.series.count))
        }
        let contours = set.regions.flatMap { $0.contours.map(\.points) }
        guard !contours.isEmpty else {
            throw DICOMReadError(.missingElement, path: file.path, detail: "no region has a closed contour")
        }
        guard let geometry = chosen?.geometry ?? ContourGrid.geometry(around: contours, limit: 1 << 27) else {
            throw DICOMReadError(
                .overLimit,
                path: file.path,
                detail: "the contours define no grid that can be rasterized"
            )
        }
        let points = set.regions.map { $0.contours.reduce(0) { $0 + $1.points.count } }
        return (
            ExistingSource(
                kind: .structureSet,
                path: file.path,
                name: "",
                geometry: geometry,
                volumes: ExistingSource.volumes(atMost: set.regions.count, of: geometry.shape),
                labels: set.regions.count,
                points: points.reduce(0, +),
                mostPoints: points.max() ?? 0,
                bytes: FileSystem.size(file.path) ?? 0,
                notes: notes
            ),
            chosen
        )
    }
}
