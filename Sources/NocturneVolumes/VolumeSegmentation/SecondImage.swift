import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// Finds the second images of items. Each file or series is read once, however many items share it.
struct SecondImageFinder {
    /// The image of an item, or why there is none.
    struct Found {
        let image: SecondImage
        /// The files that its measures depend on.
        let inputs: [InputStamp]
        /// Of these files, for fingerprints.
        let stamp: String
    }

    private let options: SegmentationOptions
    private let scope: ComputeScope
    /// By path of the file or the folder.
    private var known: [String: Found] = [:]
    /// Of all items without a separate image; nil before the folder is read.
    private var forAll: Found??

    init(_ options: SegmentationOptions, scope: ComputeScope) {
        self.options = options
        self.scope = scope
    }

    /// The endings of second images: volume files, DICOM files, and folders with a DICOM series.
    private static let endings = FoundVolume.endings + [".dcm", ""]

    /// - Parameters:
    ///   - name: the input's path relative to the input as given.
    ///   - item: its name, without path and extension.
    /// - Returns: nil if no second images were asked for.
    /// - Throws: `CancelledError`. What is wrong with an image is part of the result.
    mutating func find(for name: String, item: String) throws -> Found? {
        guard let root = options.measurePath else { return nil }
        if let file = FilePerItem(root: root, endings: Self.endings).file(for: name, item: item) {
            return try found(file)
        }
        if let found = try seriesForAll(root) { return found }
        let none = SecondImage(name: nil, problem: "there is none for this item")
        return Found(image: none, inputs: [], stamp: "none")
    }

    /// The series that the folder itself holds, in the files directly in it, or why it cannot be measured; nil where the files may be
    /// images of single items.
    private mutating func seriesForAll(_ root: String) throws -> Found? {
        if let forAll { return forAll }
        let folder = FoundFile(path: root, name: (root as NSString).lastPathComponent, root: "")
        let files = FileSystem.isFolder(root) ? Self.files(directlyIn: folder) : []
        let scan = try DICOMScanner.scan(paths: files.map(\.path), scope: scope, rules: options.inputs.seriesRules)
        let chosen = try? Self.choice(scan)
        let isSeries = chosen.map { $0.files.count > 1 } ?? scan.series.contains { $0.files.count > 1 }
        let series = isSeries ? try found(scan, of: folder, files) : nil
        forAll = .some(series)
        return series
    }

    private mutating func found(_ file: FoundFile) throws -> Found {
        if let found = known[file.path] { return found }
        let found = FoundVolume.isVolumeFile(file.fileName) ? try volume(file) : try dicom(file)
        known[file.path] = found
        return found
    }

    private func made(_ image: SecondImage, _ files: [FoundFile]) throws -> Found {
        let stamps = try FoundFile.stamps(of: files, scope: scope)
        let own = files.compactMap { stamps[$0.path] }
        let texts = own.map(\.text) + [image.problem].compactMap { $0 }
        return Found(image: image, inputs: own.map(\.input), stamp: texts.joined(separator: "\n"))
    }

    private func volume(_ file: FoundFile) throws -> Found {
        do {
            let header = try VolumeFileReader.readHeader(
                at: file.path,
                assumesOrientation: options.inputs.assumesOrientation
            )
            let images = header.dataPath == file.path ? [] : [header.dataPath]
            var image = VolumeSource(header)
            (image.files, image.name) = ([file.path], file.name)
            image.images = images.isEmpty ? nil : images
            let files = [file] + images.map { file.neighbour(at: $0) }
            return try made(SecondImage(name: file.name, image: image), files)
        } catch let error as VolumeFileError {
            return try made(SecondImage(name: file.name, problem: error.detail + FoundVolume.hint(error)), [file])
        }
    }

    /// A series in one file, or in the files of a folder.
    private func dicom(_ place: FoundFile) throws -> Found {
        let files = FileSystem.isFolder(place.path) ? Self.files(directlyIn: place) : [place]
        let scan = try DICOMScanner.scan(paths: files.map(\.path), scope: scope, rules: options.inputs.seriesRules)
        return try found(scan, of: place, files)
    }

    private func found(_ scan: DICOMScanner.Scan, of place: FoundFile, _ files: [FoundFile]) throws -> Found {
        let series: DICOMSeries
        do { series = try Self.choice(scan) } catch {
            return try made(SecondImage(name: place.name, problem: error.detail), [])
        }
        let known = Dictionary(files.map { ($0.path, $0) }) { first, _ in first }
        let own = series.files.compactMap { known[$0] }
        guard let image = VolumeSource(series, files: own) else {
            return try made(SecondImage(name: place.name, problem: "the series has no geometry"), own)
        }
        return try made(SecondImage(name: place.name, image: image), own)
    }

    /// Sorted by name, without hidden files and folders.
    private static func files(directlyIn folder: FoundFile) -> [FoundFile] {
        FileSystem.entries(folder.path).sorted().compactMap { entry in
            let path = folder.path + "/" + entry
            guard !entry.hasPrefix("."), FileSystem.exists(path), !FileSystem.isFolder(path) else { return nil }
            return FoundFile(path: path, name: folder.name + "/" + entry, root: folder.root)
        }
    }

    private struct Fault: Error {
        let detail: String
    }

    /// The series to measure: the only one that is a volume, or the only PET among several.
    private static func choice(_ scan: DICOMScanner.Scan) throws(Fault) -> DICOMSeries {
        let volumes = scan.series.filter { $0.problem == nil && $0.geometry != nil }
        let emission = volumes.filter { $0.modality == "PT" }
        if let only = volumes.count == 1 ? volumes.first : emission.count == 1 ? emission.first : nil {
            return only
        }
        if !volumes.isEmpty {
            let detail = emission.isEmpty ? "none of them a PET" : "\(emission.count) of them PET"
            throw Fault(detail: "it holds \(volumes.count) series, \(detail), so none can be chosen")
        }
        guard let series = scan.series.first, let problem = series.problem else {
            let reason = scan.rejectedFiles.first.map { IdentifierPolicy.marking([$0.path], in: $0.reason.detail) }
            throw Fault(detail: reason ?? "it is neither a volume in NIfTI, NRRD or MetaImage nor a DICOM series")
        }
        let detail = IdentifierPolicy.marking(series.files, in: problem.detail) + FoundVolume.hint(series)
        throw Fault(detail: detail)
    }
}
