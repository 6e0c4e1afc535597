package import NocturneConcurrency
import NocturneCore
import NocturneFormats
package import NocturneOutput
import NocturnePostprocess
package import NocturneRadiomics
import NocturneSystem

/// An image and labels on its grid, which are measured without a batch.
package struct RadiomicsPair: Sendable {
    private let image: Volume
    private let modality: String?
    private let unit: MeasuredUnit
    private let labels: RadiomicsLabels
    private let notes: [String]

    /// Reads both.
    /// - Parameters:
    ///   - imagePath: a NIfTI, NRRD or MetaImage file, or a folder with the files of one DICOM series.
    ///   - labelsPath: a label map in such a file in any order of the image's axes, or a DICOM segmentation or structure set.
    /// - Throws: ``BatchError`` that names what cannot be used; `CancelledError`; `AllocationError`.
    package init(image imagePath: String, labels labelsPath: String, scope: ComputeScope) throws {
        var notes: [String] = []
        var frame = ""
        do {
            if try Self.isFolder(imagePath) {
                let read = try Self.series(in: imagePath, scope: scope) { notes.append("\($0)") }
                (image, modality, unit) = (read.volume, read.series.modality, read.unit)
                frame = read.series.slices.first?.object.frameOfReferenceUID ?? ""
                notes += unit.notes.texts
            } else {
                let read = try VolumeFileReader.readVolume(at: imagePath, assumesOrientation: true, scope: scope)
                (image, modality, unit) = (read.volume, nil, MeasuredUnit(nil))
                if read.nonFiniteCount > 0 {
                    notes.append("of the image, \(LoadedVolume.text(notFinite: read.nonFiniteCount))")
                }
            }
            let isFolder = try Self.isFolder(labelsPath)
            let files = isFolder ? FileSystem.entries(labelsPath).sorted().map { "\(labelsPath)/\($0)" } : [labelsPath]
            guard files.count == 1 else {
                throw BatchError(
                    .inputMissing,
                    path: labelsPath,
                    detail: "the folder of labels has \(counted(files.count, "file")). Give the file with the labels"
                )
            }
            labels = try RadiomicsLabels.read(
                files[0],
                on: image.geometry,
                frameOfReference: frame,
                scope: scope
            ) { notes.append("\($0)") }
        } catch let error as VolumeFileError where error.code != .outOfMemory {
            throw BatchError(.inputMissing, path: error.path, detail: error.detail)
        } catch let error as DICOMReadError {
            throw BatchError(.inputMissing, path: error.path, detail: error.detail)
        }
        self.notes = notes
    }

    private static func isFolder(_ path: String) throws(BatchError) -> Bool {
        guard FileSystem.exists(path) else {
            throw BatchError(.inputMissing, path: "", detail: "there is no file or folder \(path). Check the path")
        }
        return FileSystem.isFolder(path)
    }

    private static func series(
        in folder: String,
        scope: ComputeScope,
        note: (Note) -> Void
    ) throws -> (volume: Volume, series: DICOMSeries, unit: MeasuredUnit) {
        let files = FileSystem.entries(folder).sorted().map { "\(folder)/\($0)" }
        let scan = try DICOMScanner.scan(paths: files, scope: scope)
        let volumes = scan.series.filter { $0.problem == nil && $0.geometry != nil }
        guard volumes.count == 1, let series = volumes.first, var source = VolumeSource(series, files: []) else {
            let problem = scan.series.first?.problem.map { ": \($0.detail)" } ?? ""
            let detail =
                volumes.isEmpty
                ? "the folder has no DICOM series that is a volume\(problem). Give a folder with one, or a volume file"
                : "the folder has \(volumes.count) DICOM series. Give a folder with one"
            throw BatchError(.inputMissing, path: folder, detail: detail)
        }
        source.files = series.files
        for one in series.notes { note(one) }
        let unit = try MeasuredUnit(of: source, scope: scope)
        return (try DICOMReader.readVolume(series, scope: scope, note: note), series, unit)
    }

    /// Measures every label.
    /// - Parameter settings: nil for the preset of the image's modality.
    /// - Throws: `CancelledError`.
    package func report(_ settings: RadiomicsSettings?, scope: ComputeScope) throws -> RadiomicsReport {
        let settings = settings ?? .usual(modality: modality)
        let measurement = RadiomicsMeasurement(settings: settings, scale: unit.scale, named: true)
        let regions = try labels.volumes.indices.flatMap { place in
            try measurement.regions(
                of: labels.values(in: place),
                names: labels.names,
                in: labels.volumes[place],
                on: image,
                scope: scope
            )
        }
        return RadiomicsReport(
            settings: settings,
            settingsDigest: try settings.digest,
            intensityUnit: unit.name,
            notes: notes,
            regions: regions.sorted { $0.label < $1.label }
        )
    }
}

/// Labels on an image's grid. Those of DICOM objects may overlap, and then are in several volumes.
private struct RadiomicsLabels: Sendable {
    let volumes: [LabelVolume]
    let names: [UInt16: String]
    /// The volume of each label; nil for a label map, whose values are its labels.
    let places: [UInt16: Int]?

    static func read(
        _ path: String,
        on grid: VolumeGeometry,
        frameOfReference: String,
        scope: ComputeScope,
        note: (Note) -> Void
    ) throws -> RadiomicsLabels {
        guard DICOMScanner.looksLikeDICOM(path) else {
            let read = try VolumeFileReader.readLabels(at: path, assumesOrientation: true, scope: scope, note: note)
            guard GridMapping(of: read.labels.geometry, in: grid) != nil else { throw otherGrid(path) }
            let arranged = try read.labels.arranged(on: grid, nil, scope)
            return RadiomicsLabels(volumes: [arranged], names: read.header.labelNames, places: nil)
        }
        switch LabelObject.Kind(sopClassUID: try DICOMObject.readHeader(path: path).sopClassUID) {
        case .segmentation:
            let read = try DICOMSegmentation.read(path: path, on: grid, flag: scope.flag)
            for one in read.notes { note(one) }
            guard read.geometry.matches(grid) else { throw otherGrid(path) }
            return overlapping(ExistingLabel.labels(of: read), in: read.masks)
        case .structureSet:
            var read = try DICOMStructureSet.read(path: path, flag: scope.flag)
            for one in [read.keepRegions(inFrameOfReference: frameOfReference)].compactMap(\.self) + read.notes {
                note(one)
            }
            var labels = ExistingLabel.labels(of: read)
            // As many volumes as regions: none can be missing.
            let most = max(1, labels.count)
            let made = try RegionVolumes(read.regions, labels: &labels, on: grid, atMost: most, scope: scope)
            for one in made?.notes ?? [] { note(one) }
            return overlapping(labels, in: made?.volumes ?? [])
        case .labelMap, nil:
            let detail = "a DICOM file without labels. Give a segmentation, a structure set or a label map"
            throw BatchError(.inputMissing, path: path, detail: detail)
        }
    }

    private static func overlapping(_ labels: [ExistingLabel], in volumes: [LabelVolume]) -> RadiomicsLabels {
        RadiomicsLabels(
            volumes: volumes,
            names: Dictionary(labels.map { ($0.value, $0.name) }) { first, _ in first },
            places: Dictionary(labels.map { ($0.value, $0.volume) }) { first, _ in first }
        )
    }

    private static func otherGrid(_ path: String) -> BatchError {
        BatchError(.inputMissing, path: path, detail: "its grid is not that of the image. Give labels on that grid")
    }

    /// The labels of a volume, those without voxels as well; nil where they are its values.
    func values(in volume: Int) -> [UInt16]? {
        places.map { places in places.filter { $0.value == volume }.keys.sorted() }
    }
}

extension RadiomicsSettings {
    /// The preset of that name, or the settings in a file.
    /// - Throws: ``BatchError`` that names the file.
    package init(named text: String, path: String) throws(BatchError) {
        if let preset = RadiomicsSettings.preset(text) {
            self = preset
            return
        }
        do {
            try self.init(parsing: try FileSystem.read(path, limit: 1 << 20))
        } catch let error as FileSystemError {
            throw BatchError(.inputMissing, path: "", detail: error.unreadable("the file of settings \(path)"))
        } catch {
            throw BatchError(.inputMissing, path: path, detail: "the settings cannot be used: \(error)")
        }
    }
}
