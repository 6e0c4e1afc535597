import Foundation
import Glibc
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem
import Synchronization

/// Finds the volumes in the inputs from names and headers, and gives the reason for every file that is not one.
struct VolumeFinder: Sendable {
    /// None for a recipe without models.
    let models: [SegmentationModel]
    /// For a recipe without models, only those that concern reading are set.
    let options: SegmentationOptions
    let request: DiscoveryRequest
    let files: InputFiles
    let scope: ComputeScope
    private let dicom: DICOMInputs
    private let listing = ChannelCases.Listing()
    /// Of files and folders, as they were given.
    private let inputPaths: Set<String>
    private let isExcluded: @Sendable (String) -> Bool

    init(
        _ models: [SegmentationModel],
        _ options: SegmentationOptions,
        _ request: DiscoveryRequest,
        _ files: InputFiles,
        scope: ComputeScope
    ) {
        (self.models, self.options, self.request, self.files, self.scope) = (models, options, request, files, scope)
        dicom = DICOMInputs(request, files, scope: scope)
        inputPaths = Set(request.inputs)
        isExcluded = ReferenceComparison.excludedFromInputs(options, request.inputs)
    }

    var readsTIFF: Bool { models.contains { $0.settings.inputFormat == .tiff } }

    // MARK: Claims

    /// All channels of a case are one family, and so are all objects of a DICOM series.
    func claim(_ file: FoundFile) throws -> FileClaim {
        if isExcluded(file.path) { return .companion }
        // Before the question whether the file answers: a volume that does not is refused as an item, not left out.
        if isNamed(file) { return .member(family: ChannelCases.prefix(of: file).map { "case:" + $0 }) }
        guard !file.isUnresponsive else { return .none(request.silent.reason(for: file.path)) }
        // Files with the spacing of TIFFs are part of those.
        if readsTIFF, try isSpacing(file.path) { return .companion }
        switch dicom.header(of: file) {
        case .object(let shared):
            let object = shared.wrappedValue
            let label = LabelObject.Kind(sopClassUID: object.sopClassUID)
            if let label { return .none(.discovered(.unknownFormat, Sentence(shown: label.skipReason))) }
            return .member(family: "dicom:" + object.seriesKey)
        case .fault(let error):
            return error.code == .mediaDirectory ? .directory(of: try dicom.listed(by: file)) : .member(family: nil)
        case .notDICOM:
            if try isImageOfPair(file) { return .companion }
            switch problem(ofUnknown: file.path) {
            case .setAside(let reason): return .none(reason)
            case .refused: return .member(family: nil)
            }
        }
    }

    private func isSpacing(_ path: String) throws -> Bool {
        try path.hasSuffix(".json")
            && [".", "_"].contains { end in
                try files.contains(beginning: path.dropLast(5) + end) {
                    TIFFVolumes.isName($0) && TIFFSpacing.sideFile(of: $0) == path
                }
            }
    }

    func soughtWords() -> [String: SoughtWords] { dicom.soughtWords() }

    /// Whether the file is a volume by its name.
    private func isNamed(_ file: FoundFile) -> Bool {
        FoundVolume.isVolumeFile(file.fileName)
            || readsTIFF && !file.isUnresponsive && TIFFVolumes.isName(file.fileName)
    }

    /// Every volume of some families, and every file that was expected to be one, in any order.
    func volumes(of families: [[FoundFile]], _ patients: PatientFolders) throws -> [FoundVolume] {
        var (named, others): ([FoundFile], [FoundFile]) = ([], [])
        for family in families { if isNamed(family[0]) { named += family } else { others += family } }
        let siblings = siblings(of: named)
        var volumes = try volumes(in: siblings.isEmpty ? named : (named + siblings).sorted())
        let added = Set(siblings.map(\.path))
        for index in volumes.indices { volumes[index].isSibling = added.contains(volumes[index].path) }
        let found = try dicom.series(of: others, rules: options.inputs.seriesRules)
        let byPath = Dictionary(others.map { ($0.path, $0) }) { first, _ in first }
        volumes += found.series.compactMap { FoundVolume($0, files: byPath, isAlone: dicom.hasOneSeries) }
        volumes += found.rejected.map { FoundVolume(single: $0.file, FoundVolume.problem($0.reason, among: [])) }
        // Files that look like DICOM and are not: each gets the reason that its content gives.
        volumes += found.notDICOM.map { FoundVolume(single: $0, problem(ofUnknown: $0.path)) }
        guard !patients.isEmpty else { return volumes }
        return volumes.map { volume in
            var volume = volume
            volume.words = patients.words(of: volume.path)
            return volume
        }
    }

    /// The other files of the cases of which an input is one file, without those that a run over the folder leaves out.
    private func siblings(of files: [FoundFile]) -> [FoundFile] {
        let given = files.filter { inputPaths.contains($0.path) }
        guard !given.isEmpty, models.contains(where: { $0.channelCount > 1 }) else { return [] }
        return ChannelCases.siblings(of: given, besides: files, listing)
            .filter { isNamed($0) && !isExcluded($0.path) && request.admits($0) }
    }

    /// The volumes in files that are volumes by their names.
    private func volumes(in files: [FoundFile]) throws -> [FoundVolume] {
        let tiffs = TIFFVolumes(scope: scope)
        let found = try scope.map(files.count) { index in
            FoundVolume.isVolumeFile(files[index].fileName)
                ? fileVolumes(files[index]) : [tiffs.volume(files[index], request)]
        }
        request.trace.end()
        return found.flatMap(\.self)
    }

    // MARK: Volume files

    /// The volume in a file, or each of several, or the reason why it cannot be read.
    private func fileVolumes(_ file: FoundFile) -> [FoundVolume] {
        let path = file.path
        func whole(_ volume: Result<VolumeSource, ItemProblem>) -> FoundVolume {
            FoundVolume(
                key: (VolumeFileFormat(ofName: path) ?? .nifti).rawValue + ":" + path,
                name: FoundVolume.stem(file.fileName),
                path: path,
                files: [file],
                volume: volume,
                order: path
            )
        }
        guard !file.isUnresponsive else {
            return [whole(.failure(.refused(request.silent.reason(for: path))))]
        }
        request.trace.willRead([path])
        do throws(VolumeFileError) {
            // The rest of a header may be large: it is not kept.
            let header = try retryingTransientErrors(scope) { () throws(VolumeFileError) in
                try VolumeFileReader.readHeader(
                    at: path,
                    assumesOrientation: options.inputs.assumesOrientation,
                    acceptsTimeSeries: true
                )
            }
            var found = whole(.success(VolumeSource(header)))
            if header.dataPath != path { found.images = [file.neighbour(at: header.dataPath)] }
            return header.time.map(found.timePoints) ?? [found]
        } catch {
            let reason = ItemReason.discovered(FaultCode(of: error), text: error.detail + FoundVolume.hint(error))
            let isOtherKind = [.notThreeDimensional, .unsupportedDataType].contains(error.code)
            return [whole(.failure(isOtherKind ? .setAside(reason) : .refused(reason)))]
        }
    }

    // MARK: Other files

    fileprivate static let unknown: Sentence = "not a DICOM, NIfTI, NRRD or MetaImage file"

    private func problem(ofUnknown path: String) -> ItemProblem {
        // Refused and not set aside: nobody knows whether it would be a volume.
        guard access(path, R_OK) == 0 else {
            return .refused(.discovered(.unreadable, "cannot be read: \(String(cString: strerror(errno)))"))
        }
        guard FileSystem.size(path) != 0 else {
            // An interrupted copy of a slice, or perhaps a mark that has no content.
            let reason = ItemReason.discovered(.emptyFile, "the file is empty")
            return files.isSlice(byName: path) ? .refused(reason) : .setAside(reason)
        }
        let format = OtherFormat(ofFileAt: path)
        if let format, format.isPicture {
            let names = models.isEmpty ? "this batch" : models.map(\.package.id).joined(separator: ", ")
            let text: Sentence =
                "\(own: format.rawValue); \(own: names) \(own: models.count > 1 ? "take" : "takes") volumes"
            return .setAside(.discovered(.photo, text))
        }
        return .setAside(.discovered(.unknownFormat, format.map { "\(own: $0.rawValue)" } ?? Self.unknown))
    }

    /// Whether the file holds the voxels of a detached header that is an item, by its name.
    private func isImageOfPair(_ file: FoundFile) throws -> Bool {
        try VolumeFileFormat.detachedEndings.contains { ending in
            guard file.path.hasSuffix(ending.voxels) else { return false }
            let stem = String(file.path.dropLast(ending.voxels.count))
            return try ending.headers.contains { try files.contains(stem + $0) && !isExcluded(stem + $0) }
        }
    }
}

/// Makes an item of every volume for every model, or for a recipe without one.
final class VolumeDiscovery: InputClaims {
    private let finder: VolumeFinder
    private let kinds: [VolumeKind]
    private let seconds: Mutex<SecondImageFinder>

    init(_ finder: VolumeFinder, _ kinds: [VolumeKind]) {
        (self.finder, self.kinds) = (finder, kinds)
        seconds = Mutex(SecondImageFinder(finder.options, scope: finder.scope))
    }

    func claim(_ file: FoundFile) throws -> FileClaim { try finder.claim(file) }

    func soughtWords() -> [String: SoughtWords] { finder.soughtWords() }

    func addItems(of families: [[FoundFile]], _ patients: PatientFolders, to items: FoundItems) throws {
        let volumes = try finder.volumes(of: families, patients)
        // Of all models, since their files have the same stamps.
        let cases = kinds.map { $0.cases(volumes, of: finder) }
        let stamps = try FoundVolume.stamps(of: cases.flatMap(\.self), scope: finder.scope)
        for (rank, own) in cases.enumerated() {
            for found in own {
                let files = found.allFiles.compactMap { stamps[$0.path] }
                let second = try seconds.withLock { try $0.find(for: found.inputName, item: found.name) }
                var item = item(found, files, kinds[rank], second)
                (item.rank, item.order) = (rank, found.order)
                try items.add(item)
            }
        }
    }

    /// - Parameters:
    ///   - stamps: of all files of the volume.
    ///   - second: nil if no second images were asked for.
    private func item(
        _ found: FoundVolume,
        _ stamps: [FoundFile.Stamp],
        _ kind: VolumeKind,
        _ second: SecondImageFinder.Found?
    ) -> DiscoveredItem {
        let identifiers = finder.request.identifiers
        let (name, names) = (found.inputName, found.names(identifiers))
        let reference = ReferenceComparison.file(for: name, item: found.name, finder.options)
        let references = (reference?.withVoxels ?? []).map(\.stamp)
        // The same for all models, and part of two fingerprints: that of the result and that of its labels.
        let stamp = (stamps.map(\.text) + [found.ownStamp].compactMap(\.self)).joined(separator: "\n")
        var source = (try? found.volume.get()).map { found.source($0, model: kind.id, identifiers) }
        // Everything on which the result depends: a change of any of these makes the result again.
        let texts =
            [kind.version, names.fingerprint] + kind.identity + kind.options.fingerprintTexts(of: source) + [stamp]
            + references.map { "reference \($0.text)" } + (second.map { ["second image \($0.stamp)"] } ?? [])
        var item = DiscoveredItem(
            key: found.key,
            name: names.itemName(found.name, key: found.key),
            model: kind.id,
            path: found.path,
            fingerprint: ContentDigest.of(texts.joined(separator: "\n")),
            inputs: (stamps + references).map(\.input) + (second?.inputs ?? [])
        )
        (item.words, item.suffix) = (found.words, found.suffix)
        item.headerNames = found.headerNames(identifiers)
        switch found.volume {
        case .failure(let problem): item.problem = problem
        case .success(let volume):
            item.problem = kind.reason(against: volume).map(ItemProblem.setAside)
            source?.reference = reference?.path
            source?.secondImage = second?.image
            // Without the options that do not affect labels: a result with others can take over the labels.
            if let model = kind.model { source?.setLabelsFingerprint(stamp, model, finder.options) }
            if let source { item.record(source) }
        }
        return item
    }
}

extension FoundVolume {
    /// The volume as a model sees it that takes files of a format.
    /// - Parameter model: its id.
    func suited(to format: VolumeSegmentationSettings.InputFormat, model: String) -> FoundVolume {
        var other = self
        switch format {
        // A TIFF is a picture for these models; as an item it is named like other files that are not volumes.
        case .medical:
            guard isTIFF else { return self }
            let reason = ItemReason.discovered(.unknownFormat, VolumeFinder.unknown)
            (other.key, other.name) = (DiscoveredItem.fileKeyPrefix + path, files[0].fileName)
            other.volume = .failure(.setAside(reason))
        case .tiff:
            guard !isTIFF, !key.hasPrefix(DiscoveredItem.fileKeyPrefix) else { return self }
            let reason = ItemReason.discovered(.notForModel, "\(own: model) takes TIFFs whose pages are slices")
            other.volume = .failure(.setAside(reason))
        }
        return other
    }
}
