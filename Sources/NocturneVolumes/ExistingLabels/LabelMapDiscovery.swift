import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem
import Synchronization

/// Finds the label maps in the inputs, and the images they belong to.
struct LabelMapDiscovery {
    let options: ExistingLabelsOptions
    let request: DiscoveryRequest
    let patients: PatientFolders
    let scope: ComputeScope

    private typealias Header = Result<VolumeFileHeader, VolumeFileError>

    /// - Returns: an item for each label map, and the files that are none.
    /// - Throws: `CancelledError`; ``BatchError`` when the folder of images cannot be read.
    func run(_ files: [FoundFile]) throws -> (items: [DiscoveredItem], others: [FoundFile]) {
        var headers = try headers(of: files)
        let images = try images()
        let labelled = headers.filter { (try? $0.value.get())?.holdsLabels ?? false }.map(\.key)
        let found = LabelMapPairs(files, images: images, labelled: Set(labelled))
        // Images in the folder that the user has named are not among the inputs, and were not read yet.
        if images != nil {
            let outside = found.pairs.compactMap(\.image).filter { headers[$0.path] == nil }
            headers.merge(try self.headers(of: outside)) { $1 }
        }
        return (try found.pairs.map { try item($0, headers) }, found.others)
    }

    /// The headers of files, read in parallel.
    /// A file that cannot be read becomes an item with this error and does not end the search.
    private func headers(of files: [FoundFile]) throws -> [String: Header] {
        let headers = Mutex<[String: Header]>([:])
        try scope.forEach(files.count) { index in
            let path = files[index].path
            request.trace.willRead([path])
            let header: Header
            do throws(VolumeFileError) {
                header = .success(
                    try retryingTransientErrors(scope) { () throws(VolumeFileError) in
                        try VolumeFileReader.readHeader(at: path)
                    }
                )
            } catch {
                header = .failure(error)
            }
            headers.withLock { $0[path] = header }
        }
        request.trace.end()
        return headers.withLock { $0 }
    }

    /// The files in the folder of images that the user has named.
    private func images() throws -> (folder: String, files: [String: FoundFile])? {
        guard let folder = options.imageFolder else { return nil }
        var request = request
        request.inputs = [folder]
        let files = try InputSearch.files(request, flag: scope.flag).filter { FoundVolume.isVolumeFile($0.fileName) }
        return (folder, Dictionary(files.map { ($0.name, $0) }) { first, _ in first })
    }

    // MARK: Items

    private func item(_ pair: LabelMapPairs.Pair, _ headers: [String: Header]) throws -> DiscoveredItem {
        let file = pair.labels
        let words = patients.words(of: file.path)
        let names = ShownNames(request.identifiers, words: words)
        let key = "labels:" + file.path
        var item = DiscoveredItem(
            key: key,
            name: names.itemName(FoundVolume.stem(file.fileName), key: key),
            model: ExistingLabels.task,
            path: file.path,
            fingerprint: ContentDigest.of(key),
            inputs: [InputStamp(file.path)]
        )
        item.words = words
        let header: VolumeFileHeader
        switch headers[file.path] {
        case .success(let found): header = found
        case .failure(let error):
            item.problem = .refused(.discovered(FaultCode(of: error), text: error.detail))
            return item
        case nil:
            item.problem = .refused(.discovered(.unreadable, "its header was not read"))
            return item
        }
        let (image, note) = image(of: pair, header, headers)
        let labelNames = namesFile(for: file, header)
        let geometry = image?.geometry ?? header.geometry
        var source = ExistingSource(
            kind: .labelMap,
            path: file.path,
            name: names.shown(file.name),
            geometry: geometry,
            volumes: 1,
            labels: 0,
            bytes: FileSystem.size(file.path) ?? 0,
            notes: header.notes + (note.map { [$0] } ?? [])
        )
        source.image = image
        source.namesFile = labelNames?.path
        let volumes = ([file] + (image == nil ? [] : [pair.image].compactMap(\.self))).flatMap(\.withVoxels)
        item.complete(source, names, options, of: volumes + [labelNames].compactMap(\.self))
        return item
    }

    /// The image, if its voxels are those of the label map in any order of the axes; else the reason in a note.
    private func image(
        of pair: LabelMapPairs.Pair,
        _ header: VolumeFileHeader,
        _ headers: [String: Header]
    ) -> (VolumeSource?, note: Note?) {
        guard let file = pair.image else { return (nil, .noIntensities("no image of this label map was found")) }
        switch headers[file.path] {
        case .success(let image):
            guard GridMapping(of: header.geometry, in: image.geometry) != nil else {
                let difference = LabelVolume.difference(header.geometry, image.geometry)
                let fact: Sentence = "the label map lies on another grid than the image \(file: file.name): "
                return (nil, .noIntensities(fact + "\(own: difference)"))
            }
            var source = VolumeSource(image)
            (source.model, source.files) = (ExistingLabels.task, [file.path])
            // They concern the image as a separate input.
            source.notes = nil
            return (source, nil)
        case .failure(let error):
            return (nil, .noIntensities("the image \(file: file.name) cannot be read: \(error.detail)"))
        case nil: return (nil, .noIntensities("the image \(file: file.name) was not read"))
        }
    }

    /// The file that names the labels: the one given; or nnU-Net's next to the folder, where the header names none.
    private func namesFile(for file: FoundFile, _ header: VolumeFileHeader) -> FoundFile? {
        if let path = options.namesFile {
            return FoundFile(path: path, name: (path as NSString).lastPathComponent, root: "")
        }
        // Names in the map itself belong to it more certainly than a file in another folder.
        guard header.labelNames.isEmpty else { return nil }
        let path = (file.folderPath as NSString).deletingLastPathComponent + "/" + LabelNameFile.name
        guard (try? LabelNameFile(path)) != nil else { return nil }
        return FoundFile(path: path, name: LabelNameFile.name, root: "")
    }
}

extension VolumeFileHeader {
    private static let labelIntent = 1002

    /// Whether the header states that the values are labels.
    fileprivate var holdsLabels: Bool { intentCode == Self.labelIntent || !labelNames.isEmpty }
}
