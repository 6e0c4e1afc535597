import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// Finds the segmentations, structure sets and label maps in the inputs, and the images they refer to.
struct ExistingDiscovery: InputClaims {
    let options: ExistingLabelsOptions
    let request: DiscoveryRequest
    let scope: ComputeScope
    private let dicom: DICOMInputs

    init(_ options: ExistingLabelsOptions, _ request: DiscoveryRequest, _ files: InputFiles, scope: ComputeScope) {
        (self.options, self.request, self.scope) = (options, request, scope)
        dicom = DICOMInputs(request, files, scope: scope)
    }

    /// Labels refer to images anywhere in the inputs: all are one family.
    func claim(_ file: FoundFile) throws -> FileClaim {
        guard !file.isUnresponsive else { return .none(request.silent.reason(for: file.path)) }
        if FoundVolume.isVolumeFile(file.fileName) { return .member(family: "labels and images") }
        switch dicom.header(of: file) {
        case .object: return .member(family: "labels and images")
        case .fault(let error) where error.code == .mediaDirectory: return .directory(of: try dicom.listed(by: file))
        case .fault, .notDICOM: return .none(Self.noLabels)
        }
    }

    func soughtWords() -> [String: SoughtWords] { dicom.soughtWords() }

    func addItems(of families: [[FoundFile]], _ patients: PatientFolders, to found: FoundItems) throws {
        let all = families.flatMap(\.self).sorted()
        // Volume files are label maps or images; all other files may be DICOM, which only their content shows.
        let named = all.filter { FoundVolume.isVolumeFile($0.fileName) }
        let scan = try dicom.series(
            of: all.filter { !FoundVolume.isVolumeFile($0.fileName) },
            rules: DICOMSeries.Rules()
        )
        let files = Dictionary(all.map { ($0.path, $0) }) { first, _ in first }
        let maps = try LabelMapDiscovery(options: options, request: request, patients: patients, scope: scope)
            .run(named)
        try found.add(contentsOf: maps.items.map(ordered))
        var others = maps.others.map { other($0, patients, Self.noLabelMap) }
        others += (scan.rejected.map(\.file) + scan.notDICOM).map { other($0, patients) }
        let images = SourceImages(scan.series)
        var used: Set<String> = []
        // The images of a series are reported as one item.
        var rests: [[FoundFile]] = []
        for series in scan.series {
            try scope.check()
            let objects = LabelObject.objects(of: series)
            for object in objects {
                guard let file = files[object.path] else { continue }
                request.trace.willRead([file.path])
                let shown = (request.identifiers, patients.words(of: file.path))
                let item = try item(object, file, images, files, shown)
                // These files are reported as parts of the item, and not as files without labels.
                used.formUnion(item.inputs.map(\.path))
                try found.add(ordered(item))
            }
            let taken = Set(objects.map(\.path))
            rests.append(series.files.compactMap { taken.contains($0) ? nil : files[$0] })
        }
        for rest in rests {
            guard let first = rest.min() else { continue }
            let reason = rest.contains { used.contains($0.path) } ? Self.usedImage : Self.noLabels
            others.append(other(first, patients, reason, isSeries: rest.count > 1))
        }
        request.trace.end()
        // Several series of one folder are reported once.
        var paths: Set<String> = []
        for (item, file) in others where paths.insert(item.path).inserted {
            try found.add(ordered(item), unlessOthersClaim: file)
        }
    }

    private static let noLabels = ItemReason.discovered(
        .noLabels,
        "without labels: neither a DICOM segmentation nor a structure set"
    )
    private static let usedImage = ItemReason.discovered(
        .partOfOther,
        "the image on which existing labels are measured"
    )
    private static let noLabelMap = ItemReason.discovered(
        .noLabels,
        "not a label map by its folder, its header or its name; --label-images names the folder of the images"
    )

    private func ordered(_ item: DiscoveredItem) -> DiscoveredItem {
        var item = item
        item.order = item.path
        return item
    }

    /// A file, or the images of a series, as not an input.
    private func other(
        _ file: FoundFile,
        _ patients: PatientFolders,
        _ reason: ItemReason = ExistingDiscovery.noLabels,
        isSeries: Bool = false
    ) -> (item: DiscoveredItem, file: FoundFile) {
        let (key, words) = (DiscoveredItem.fileKeyPrefix + file.path, patients.words(of: file.path))
        var item = DiscoveredItem(
            key: key,
            name: ShownNames(request.identifiers, words: words)
                .itemName(isSeries ? file.folderName : file.fileName, key: key),
            model: ExistingLabels.task,
            path: isSeries ? file.folderPath : file.path,
            fingerprint: ContentDigest.of(key),
            inputs: [InputStamp(file.path)]
        )
        (item.problem, item.words) = (.setAside(reason), words)
        return (item, file)
    }

    // MARK: Items

    private func item(
        _ object: LabelObject,
        _ file: FoundFile,
        _ images: SourceImages,
        _ files: [String: FoundFile],
        _ shown: (policy: IdentifierPolicy, words: [String])
    ) throws -> DiscoveredItem {
        let key = "labels:" + file.path
        let names = ShownNames(shown.policy, words: shown.words)
        var item = DiscoveredItem(
            key: key,
            name: names.itemName((file.fileName as NSString).deletingPathExtension, key: key),
            model: ExistingLabels.task,
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
            let slices = found.series?.files.compactMap { files[$0] } ?? []
            source.image = found.series.flatMap { VolumeSource($0, files: slices) }
            source.image?.model = ExistingLabels.task
            // The notes concern the image as a separate input; here only its intensities are used.
            source.image?.notes = nil
            item.complete(source, names, options, of: [file] + slices)
        } catch let error as DICOMReadError {
            // --fix-tilt, the remedy for images, is not for labels.
            let isUneven = [.sheared, .spacingNotUniform].contains(error.code)
            let reason = ItemReason.discovered(isUneven ? .noLabelGrid : error.faultCode, text: error.detail)
            item.problem = error.code == .otherObject ? .setAside(reason) : .refused(reason)
        }
        return item
    }

    private typealias Found = (source: ExistingSource, series: DICOMSeries?)

    private func segmentation(_ file: FoundFile, _ images: SourceImages) throws -> Found {
        let path = file.path
        let (candidates, fitting) = try images.candidates(ofSegmentation: path, flag: scope.flag)
        let chosen = fitting.count == 1 ? fitting.first : nil
        let header = try chosen?.header ?? DICOMSegmentation.readHeader(path: path, limits: LabelObject.limits)
        let note = chosen == nil ? candidates.note(fits: fitting.count) : candidates.substitution
        let notes = note.map { [$0] } ?? []
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
        var set = try DICOMStructureSet.read(path: file.path, limits: LabelObject.limits, flag: scope.flag)
        let drawn = set.images
        let candidates = images.candidates(
            series: set.referencedSeriesUID,
            images: drawn,
            frameOfReference: set.frameOfReferenceUID
        )
        let chosen = candidates.series.count == 1 ? candidates.series.first : nil
        var notes: [Note] = []
        if chosen != nil, let substitution = candidates.substitution {
            notes.append(substitution)
        } else if let chosen {
            notes += [images.missing(drawn, besides: chosen)].compactMap(\.self)
        } else {
            notes.append(candidates.note(fits: candidates.series.count))
        }
        let frame = chosen?.slices.first?.object.frameOfReferenceUID
        notes += [set.keepRegions(inFrameOfReference: frame ?? "")].compactMap(\.self)
        let contours = set.regions.flatMap { $0.contours.map(\.points) }
        // Points and open lines enclose no volume.
        guard !contours.isEmpty else {
            throw DICOMReadError(.missingElement, path: file.path, detail: "no region has a closed contour")
        }
        guard let geometry = chosen?.geometry ?? VolumeGeometry(around: contours, limit: 1 << 27) else {
            throw DICOMReadError(
                .overLimit,
                path: file.path,
                detail: "the contours define no grid that can be rasterized"
            )
        }
        if geometry.shape.z == 1 {
            let thickness = Float(geometry.spacing.z)
            let text: Sentence = "on one slice: a thickness of \(thickness) mm is assumed, and so are volumes"
            notes.append(Note("structureSet.singleSlice", text))
        }
        // For the forecast of memory: all points at once, and those of the largest region.
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
                frameOfReferenceUID: frame,
                bytes: FileSystem.size(file.path) ?? 0,
                notes: notes
            ),
            chosen
        )
    }
}

extension DiscoveredItem {
    /// Adds the source, and what the result depends on.
    /// - Parameter files: those of the labels, of the images and with names: a change of one makes the result again.
    mutating func complete(
        _ source: ExistingSource,
        _ names: ShownNames,
        _ options: ExistingLabelsOptions,
        of files: [FoundFile]
    ) {
        var source = source
        (source.identifiers, source.words) = (names.policy, words.isEmpty ? nil : words)
        let (optionTexts, stamps) = (options.fingerprintTexts(), files.map(\.stamp))
        let parts = ["nocturne existing labels 1", names.fingerprint] + optionTexts + stamps.map(\.text)
        fingerprint = ContentDigest.of(parts.joined(separator: "\n"))
        inputs = stamps.map(\.input)
        record(source)
    }
}
