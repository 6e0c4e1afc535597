import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneRecipeSupport
import NocturneSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// Finds the volumes in the inputs from names and headers, and gives the reason for every file that is not one.
struct VolumeDiscovery {
    let models: [SegmentationModel]
    let options: SegmentationOptions
    let scope: ComputeScope

    func run(_ request: DiscoveryRequest) throws -> Discovery {
        let (found, walk, patients) = try volumes(request)
        var items = try items(found, request.identifiers)
        for model in models { items.append(contentsOf: walk.unusable(model: model.package.id)) }
        return Discovery(items: items, notes: walk.notes, patients: patients)
    }

    /// Every volume and every file that was expected to be one, in order, the walk that found them, and what identifies their
    /// patients in paths.
    func volumes(
        _ request: DiscoveryRequest
    ) throws -> (found: FileBackedList<FoundVolume>, walk: FileWalk, patients: PatientFolders) {
        var walk = FileWalk(request: request, flag: scope.flag)
        try walk.run()
        let isExcluded = ReferenceComparison.excludedFromInputs(options, request.inputs)
        var (nifti, others): ([FoundFile], [FoundFile]) = ([], [])
        for file in walk.files where !isExcluded(file.path) {
            if VolumeDiscovery.isNIfTIName(file.fileName) { nifti.append(file) } else { others.append(file) }
        }
        nifti += walk.unresponsive.filter { VolumeDiscovery.isNIfTIName($0.fileName) }
        let channels = models.map(\.channelCount).max() ?? 1
        nifti += ChannelCases.siblings(of: nifti, channels: channels)
        var found = try niftiVolumes(nifti, request)
        if models.contains(where: { $0.settings.inputFormat == .tiff }) {
            var tiffs = others.filter { TIFFVolumes.isName($0.fileName) }
            tiffs += ChannelCases.siblings(of: tiffs, channels: channels)
            let volumes = try TIFFVolumes(scope: scope).volumes(tiffs, request)
            let read = Set(volumes.flatMap(\.allFiles).map(\.path))
            others.removeAll { read.contains($0.path) }
            found.append(contentsOf: volumes)
        }
        for file in walk.unresponsive where !VolumeDiscovery.isNIfTIName(file.fileName) {
            found.append(single(file, .refused(request.silent.reason(for: file.path))))
        }
        let dicom = try dicomVolumes(others, excluding: FoundFiles(nifti), request)
        found.append(contentsOf: dicom.found)
        found.sort { $0.order }
        let patients = DICOMFiles.patients(dicom.scan, walk.paths, request)
        if !patients.isEmpty {
            for (index, volume) in found.enumerated() {
                var volume = volume
                volume.words = patients.words(of: volume.path)
                if !volume.words.isEmpty { found[index] = volume }
            }
        }
        return (found, walk, patients)
    }

    // MARK: NIfTI

    static func isNIfTIName(_ name: String) -> Bool {
        let lower = name.lowercased()
        return [".nii", ".nii.gz", ".hdr", ".hdr.gz"].contains { lower.hasSuffix($0) }
    }

    static func stem(_ name: String) -> String {
        let lower = name.lowercased()
        for ending in [".nii.gz", ".hdr.gz", ".nii", ".hdr", ".tif", ".tiff"] where lower.hasSuffix(ending) {
            return String(name.dropLast(ending.count))
        }
        return name
    }

    private func niftiVolumes(
        _ files: [FoundFile],
        _ request: DiscoveryRequest
    ) throws -> FileBackedList<FoundVolume> {
        var all = FileBackedList<FoundVolume>()
        for start in stride(from: 0, to: files.count, by: Self.volumesAtOnce) {
            let portion = files[start...].prefix(Self.volumesAtOnce)
            let found = Mutex([[FoundVolume]](repeating: [], count: portion.count))
            try scope.forEach(portion.count) { index in
                let volumes = niftiVolumes(portion[start + index], request)
                found.withLock { $0[index] = volumes }
            }
            all.append(contentsOf: found.withLock { $0 }.joined())
        }
        request.trace.end()
        return all
    }

    /// The volume in a file, or each of several, or the reason why it cannot be read.
    private func niftiVolumes(_ file: FoundFile, _ request: DiscoveryRequest) -> [FoundVolume] {
        let path = file.path
        func whole(_ volume: Result<VolumeFacts, Refusal>) -> FoundVolume {
            FoundVolume(
                key: "nifti:" + path,
                name: VolumeDiscovery.stem(file.fileName),
                path: path,
                files: [file],
                volume: volume,
                order: path
            )
        }
        guard !file.isUnresponsive else {
            return [whole(.failure(Refusal(problem: .refused(request.silent.reason(for: path)))))]
        }
        request.trace.willRead([path])
        do throws(NIfTIError) {
            // The rest of a header may be large: it is not kept.
            let header = try retryingTransientErrors(scope) { () throws(NIfTIError) in
                try NIfTIReader.readHeader(
                    at: path,
                    assumesOrientation: options.assumesOrientation,
                    acceptsTimeSeries: true
                )
            }
            var found = whole(.success(VolumeFacts(header)))
            if header.dataPath != path { found.images = [file.neighbour(at: header.dataPath)] }
            return header.time.map(found.timePoints) ?? [found]
        } catch {
            let reason = ItemReason.discovered(FaultCode(of: error), error.detail + DICOMFiles.hint(error))
            let isOtherKind = [.notThreeDimensional, .unsupportedDataType].contains(error.code)
            return [whole(.failure(Refusal(problem: isOtherKind ? .setAside(reason) : .refused(reason))))]
        }
    }

    // MARK: DICOM

    private func dicomVolumes(
        _ files: [FoundFile],
        excluding nifti: FoundFiles,
        _ request: DiscoveryRequest
    ) throws -> (found: [FoundVolume], scan: DICOMScan) {
        var all: [FoundSeries] = []
        let (scan, files) = try DICOMFiles.scan(files, request, rules: options.seriesRules, scope: scope) {
            all.append(FoundSeries($0, files: $1))
        }
        var seriesInFolder: [String: Set<String>] = [:]
        for series in all {
            if let file = series.files.first {
                seriesInFolder[file.folderPath, default: []].insert(series.seriesInstanceUID)
            }
        }
        var found: [FoundVolume] = []
        for series in all {
            found += series.labels.compactMap { object in
                files[object.path].map { single($0, .unknown(.discovered(.unknownFormat, object.skipReason))) }
            }
            let labelled = Set(series.labels.map(\.path))
            let slices = labelled.isEmpty ? series.files : series.files.filter { !labelled.contains($0.path) }
            guard let first = slices.min() else { continue }
            var suffix = ""
            if seriesInFolder[first.folderPath, default: []].count > 1 {
                suffix += series.number.map { "_s\($0)" } ?? "_series"
            }
            if let part = series.part { suffix += "_" + part }
            found.append(
                FoundVolume(
                    key: "dicom:\(first.folderPath):\(series.seriesInstanceUID)" + (series.part.map { ":\($0)" } ?? ""),
                    name: first.folderName + suffix,
                    path: first.folderPath,
                    files: slices,
                    volume: series.volume,
                    order: first.path + (series.part.map { ":\($0)" } ?? ""),
                    suffix: suffix
                )
            )
        }
        for entry in scan.rejectedFiles {
            guard let file = files[entry.path] else { continue }
            found.append(single(file, FoundSeries.problem(entry.reason, among: [])))
        }
        for path in scan.notDICOM {
            guard let file = files[path], !VolumeDiscovery.isImageOfPair(file, nifti) else { continue }
            found.append(single(file, VolumeDiscovery.problem(ofUnknown: path)))
        }
        return (found, scan)
    }

    private static func problem(ofUnknown path: String) -> ItemProblem {
        guard access(path, R_OK) == 0 else {
            return .refused(.discovered(.unreadable, "cannot be read: \(String(cString: strerror(errno)))"))
        }
        guard FileSystem.size(path) != 0 else { return .unknown(.discovered(.emptyFile, "the file is empty")) }
        let known = OtherFormat(ofFileAt: path).map { ": \($0.rawValue)" } ?? ""
        return .unknown(.discovered(.unknownFormat, "neither DICOM nor NIfTI" + known))
    }

    private func single(_ file: FoundFile, _ problem: ItemProblem) -> FoundVolume {
        let path = file.path
        return FoundVolume(
            key: DiscoveredItem.fileKeyPrefix + path,
            name: file.fileName,
            path: path,
            files: [file],
            volume: .failure(Refusal(problem: problem)),
            order: path
        )
    }

    /// Whether the file holds the voxels of a NIfTI pair whose header is an item.
    private static func isImageOfPair(_ file: FoundFile, _ nifti: FoundFiles) -> Bool {
        for (image, header) in [(".img.gz", ".hdr"), (".img", ".hdr")] where file.path.hasSuffix(image) {
            let stem = String(file.path.dropLast(image.count))
            return nifti[stem + header] != nil || nifti[stem + header + ".gz"] != nil
        }
        return false
    }

    // MARK: Items

    /// The items of every model, in the order of the volumes.
    /// - Parameter found: in order.
    private func items(
        _ found: FileBackedList<FoundVolume>,
        _ identifiers: IdentifierPolicy
    ) throws -> FileBackedList<DiscoveredItem> {
        let hasTIFF = models.contains { $0.settings.inputFormat == .tiff }
        let cases = models.map { model in
            let suited = found.lazy.map { $0.suited(to: model.settings.inputFormat, model: model.package.id) }
            return ChannelCases(model: model.package).cases(hasTIFF ? FileBackedList(suited) : found)
        }
        var rest = cases.map { $0.makeIterator() }
        var next = rest.indices.map { rest[$0].next() }
        var items = models.map { _ in FileBackedList<DiscoveredItem>() }
        var seconds = SecondImageFinder(options, scope: scope)
        for limit in Self.portions(found).map(Optional.some) + [nil] {
            // Each portion of the volumes of all models, since their files have the same stamps.
            let portions = rest.indices.map { place in
                var portion: [FoundVolume] = []
                while let volume = next[place], limit.map({ volume.order < $0 }) ?? true {
                    portion.append(volume)
                    next[place] = rest[place].next()
                }
                return portion
            }
            let stamps = try FoundVolume.stamps(of: portions.flatMap(\.self), scope: scope)
            for (place, portion) in portions.enumerated() {
                for found in portion {
                    let parts = found.allFiles.map { stamps[$0.path] ?? "" } + [found.ownStamp].compactMap(\.self)
                    let second = try seconds.find(for: found.inputName, item: found.name)
                    items[place].append(
                        item(found, parts.joined(separator: "\n"), models[place], (second, identifiers))
                    )
                }
            }
        }
        return items.count == 1 ? items[0] : FileBackedList(items.joined())
    }

    /// How many volumes, and how many files of theirs, become items in one go; a larger series is a portion of its own.
    private static let (volumesAtOnce, filesAtOnce) = (4096, 16_384)

    /// The orders of the first volumes of all portions but the first.
    private static func portions(_ found: FileBackedList<FoundVolume>) -> [String] {
        var limits: [String] = []
        var (volumes, files) = (0, 0)
        for volume in found {
            let own = volume.files.count
            if volumes > 0, volumes == volumesAtOnce || files + own > filesAtOnce {
                limits.append(volume.order)
                (volumes, files) = (0, 0)
            }
            volumes += 1
            files += own
        }
        return limits
    }

    private func item(
        _ found: FoundVolume,
        _ stamp: String,
        _ model: SegmentationModel,
        _ beside: (second: SecondImageFinder.Found?, identifiers: IdentifierPolicy)
    ) -> DiscoveredItem {
        let (id, second, identifiers) = (model.package.id, beside.second, beside.identifiers)
        let (name, names) = (found.inputName, found.names(identifiers))
        let reference = ReferenceComparison.file(for: name, item: found.name, options)
        var source = (try? found.volume.get()).map { found.source($0, model: id, identifiers) }
        let optionText = options.shownInResults(of: source).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            .joined(separator: "\n")
        let text = [
            "nocturne 1", names.fingerprint, model.package.digest.hex, model.engineName, model.precision.rawValue,
            optionText,
            stamp + (reference.map { "\nreference \($0.stamp)" } ?? "")
                + (second.map { "\nsecond image \($0.stamp)" } ?? ""),
        ].joined(separator: "\n")
        var item = DiscoveredItem(
            key: found.key,
            name: names.itemName(found.name, key: found.key),
            model: id,
            source: "{}",
            path: found.path,
            fingerprint: ContentDigest.of(text),
            inputs: (found.allFiles + (reference.map { [$0] } ?? []) + (second?.files ?? []))
                .map { InputStamp($0.path) }
        )
        (item.words, item.suffix) = (found.words, found.suffix)
        switch found.volume {
        case .failure(let refusal): item.problem = refusal.problem
        case .success(let facts):
            let wanted = model.package.modalities
            if let modality = facts.modality, !wanted.isEmpty, !wanted.contains(modality) {
                let text = "modality \(modality); \(id) takes \(wanted.joined(separator: ", "))"
                item.problem = .setAside(.discovered(.notForModel, text))
            } else if facts.geometry.shape.z < 2 {
                item.problem = .refused(FoundVolume.singleSlice)
            }
            source?.reference = reference?.path
            source?.secondImage = second?.image
            source?.setLabelsFingerprint(stamp, model, options)
            if let source { item.record(source) }
        }
        return item
    }
}
