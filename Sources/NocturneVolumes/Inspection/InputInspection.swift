package import NocturneBatch
package import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
package import NocturneSystem
import Synchronization

/// Describes volumes, label objects and photos among the inputs, without regard to a model.
package struct InputInspection: Sendable {
    /// One volume, object or file. In JSON, null stands for what the input does not state.
    package struct Entry: Encodable, Sendable {
        /// The file; of a series the first one in the order of paths.
        package let path: String
        /// Such as `NIfTI-1`, `DICOM` or `PNG photo`; nil for an unknown file.
        @Nullable package var format: String?
        /// As a DICOM header states it.
        @Nullable package var modality: String?
        /// Voxels along i, j and k; nil for a photo.
        @Nullable package var shape: [Int]?
        /// Along i, j and k.
        @Nullable package var spacingMm: [Double]?
        /// The directions in which i, j and k grow, as three letters such as LPS.
        @Nullable package var orientation: String?
        /// The first three rows of the map from voxel indices to RAS+ mm.
        @Nullable package var affineRas: [[Double]]?
        /// Distinguishes this part from the other parts of its series; nil for a complete series.
        @Nullable package var part: String?
        /// Of DICOM objects, as the next two.
        @Nullable package var seriesInstanceUid: String?
        @Nullable package var studyInstanceUid: String?
        @Nullable package var frameOfReferenceUid: String?
        /// Which kind of object the series has; that of its first slice.
        @Nullable package var sopClassUid: String?
        /// Number of files; nil for a single file that is not a series.
        @Nullable package var files: Int?
        /// Facts of the format, such as type of voxels, scaling, window.
        package var details: [String] = []
        /// Facts that do not prevent processing: how a series was split, what was excluded, what would be resampled.
        package var notes: [String] = []
        /// For a tilted or unevenly spaced series: the figures, whether or not it is resampled.
        @Nullable package var correction: Correction?
        /// For an object that holds labels instead of an image; nil for volumes.
        @Nullable package var labels: [Label]?
        /// Width and height of a photo, upright; nil for everything else.
        @Nullable package var pixels: [Int]?
        /// Why it is not usable; nil for a volume, a photo, and an object that `--existing-labels` takes.
        @Nullable package var problem: String?
    }

    /// How a tilted or unevenly spaced series is resampled onto an upright, even grid.
    package struct Correction: Codable, Sendable {
        /// Whether resampling was requested; otherwise the series is refused.
        package let isApplied: Bool
        /// The angle between the stack and the normal of its slices; 0 where the affine can hold it.
        package let tiltDegrees: Double
        /// Between neighbouring slices along their normal.
        package let shortestStepMm: Double
        /// The same; equal to the shortest in an even series.
        package let longestStepMm: Double
        /// Planes of the new grid at whose positions no slice was stored.
        package let interpolatedPlanes: Int
        /// Columns, rows and slices as stored.
        package let storedShape: [Int]
        /// Columns, rows and slices of the new grid.
        package let shape: [Int]
        /// Of the new grid.
        package let spacingMm: [Double]
    }

    /// What `nocturne inspect --json` prints.
    package struct Report: Encodable, Sendable {
        /// In the order of paths.
        package let entries: [Entry]
        /// Remarks of the search.
        package let notes: [String]
        /// The numbers of each kind.
        package let summary: Summary

        /// Whether no input can be used.
        package var isEmpty: Bool { !entries.contains { $0.problem == nil } }
    }

    let scope: ComputeScope
    private let options: VolumeInputOptions
    private let progress: (@Sendable (_ done: Int, _ all: Int) -> Void)?

    /// - Parameters:
    ///   - options: which inputs are usable.
    ///   - progress: called with the number of files scanned, from any thread.
    package init(
        scope: ComputeScope,
        options: VolumeInputOptions = VolumeInputOptions(),
        progress: (@Sendable (_ done: Int, _ all: Int) -> Void)? = nil
    ) {
        self.scope = scope
        self.options = options
        self.progress = progress
    }

    /// Reads headers only.
    /// - Throws: ``BatchError`` when an input does not exist; `CancelledError`.
    package func run(_ request: DiscoveryRequest) throws -> Report {
        let found = Mutex([Entry]())
        let search = InputSearch { request, files, scope in
            let dicom = DICOMInputs(request, files, scope: scope)
            return [
                InspectedInputs(dicom: dicom, done: try progress.map { counter(of: try files.count(), $0) }) { own in
                    let new = try entries(own, dicom)
                    found.withLock { $0 += new }
                }
            ]
        }
        let table = try FoundTable()
        let notes = try search.run(request, scope: scope, into: table).notes
        // What could not be searched, such as the output folder of a batch.
        let unusable = try table.items().map {
            Entry(path: $0.path, problem: $0.problem?.reason.sentence.description)
        }
        let all = found.withLock { $0 } + unusable
        return Report(
            entries: all.sorted { ($0.path, $0.part ?? "") < ($1.path, $1.part ?? "") },
            notes: notes,
            summary: Summary(all)
        )
    }

    /// Counts files that were looked at.
    private func counter(
        of all: Int,
        _ progress: @escaping @Sendable (_ done: Int, _ all: Int) -> Void
    ) -> @Sendable () -> Void {
        let done = SharedCount()
        return { progress(done.next(), all) }
    }

    private final class SharedCount: Sendable {
        private let count = Atomic<Int>(0)

        func next() -> Int { count.add(1, ordering: .relaxed).newValue }
    }

    private func entries(_ files: [FoundFile], _ dicom: DICOMInputs) throws -> [Entry] {
        var entries = files.filter { FoundVolume.isVolumeFile($0.fileName) }.map(entry)
        let others = files.filter { !FoundVolume.isVolumeFile($0.fileName) }
        let scan = try dicom.series(of: others, rules: options.seriesRules)
        for series in scan.series {
            let objects = LabelObject.objects(of: series)
            entries += try objects.map { try entry($0, of: series, among: scan.series) }
            if objects.count < series.files.count || series.files.isEmpty { entries.append(entry(series)) }
        }
        entries += scan.rejected.map { Entry(path: $0.file.path, format: "DICOM", problem: $0.reason.detail) }
        let unknown = scan.notDICOM.map(\.path)
        return entries + (try scope.map(unknown.count) { photo(unknown[$0]) })
    }

    private func entry(_ file: FoundFile) -> Entry {
        do {
            let header = try VolumeFileReader.readHeader(
                at: file.path,
                assumesOrientation: options.assumesOrientation,
                acceptsTimeSeries: true
            )
            let forms = ", q-form code \(header.qformCode), s-form code \(header.sformCode)"
            var details = [
                "\(header.dataType), \(header.byteOrder.rawValue)-endian" + (header.version == nil ? "" : forms)
            ]
            if header.hasScaling {
                details.append("values are stored × \(header.scalingSlope) + \(header.scalingIntercept)")
            }
            if let time = header.time {
                let step = time.step.map { ", \(Float($0)) s apart" } ?? ", at times that the header does not state"
                details.append("\(time.count) volumes\(step): with --time-series, each is an item")
            }
            var entry = described(
                file.path,
                header.format.title + (header.version.map { "-\($0.rawValue)" } ?? ""),
                header.geometry,
                details
            )
            entry.notes = header.notes.texts
            return entry
        } catch {
            return Entry(
                path: file.path,
                format: VolumeFileFormat(ofName: file.fileName)?.title,
                problem: error.detail + FoundVolume.hint(error)
            )
        }
    }

    private func entry(_ series: DICOMSeries) -> Entry {
        let first = series.slices.first
        var details: [String] = [
            "\(counted(series.slices.count, "slice")) in \(counted(series.files.count, "file"))"
                + (series.description.map { ", \($0)" } ?? "")
        ]
        let syntaxes = Set(series.slices.map(\.object.transferSyntaxName)).sorted()
        if !syntaxes.isEmpty { details.append("transfer syntax \(syntaxes.joined(separator: ", "))") }
        if let slope = first?.plane.rescaleSlope, let intercept = first?.plane.rescaleIntercept {
            let isSame = series.slices.allSatisfy {
                $0.plane.rescaleSlope == slope && $0.plane.rescaleIntercept == intercept
            }
            let others = isSame ? "" : " in the first slice; others differ"
            details.append("rescale slope \(slope), intercept \(intercept)\(others)")
        }
        if let center = first?.plane.windowCenter, let width = first?.plane.windowWidth {
            details.append("window centre \(center), width \(width)")
        }
        var entry = described(
            series.files.min() ?? series.seriesInstanceUID,
            "DICOM",
            series.geometry,
            details
        )
        entry.modality = series.modality
        entry.notes = series.notes.texts
        entry.problem = series.problem.map { $0.detail + FoundVolume.hint(series) }
        entry.part = series.part
        entry.seriesInstanceUid = series.seriesInstanceUID
        if let object = first?.object {
            func stated(_ uid: String) -> String? { uid.isEmpty ? nil : uid }
            entry.studyInstanceUid = stated(object.studyInstanceUID)
            entry.frameOfReferenceUid = stated(object.frameOfReferenceUID)
            entry.sopClassUid = stated(object.sopClassUID)
        }
        entry.files = series.files.count
        entry.correction = (series.correction ?? series.possibleCorrection).map {
            Correction($0, isApplied: series.correction != nil)
        }
        return entry
    }

    func described(
        _ path: String,
        _ format: String,
        _ geometry: VolumeGeometry?,
        _ details: [String]
    ) -> Entry {
        let spacing = geometry?.spacing
        return Entry(
            path: path,
            format: format,
            shape: geometry.map { [$0.shape.x, $0.shape.y, $0.shape.z] },
            spacingMm: spacing.map { [$0.x, $0.y, $0.z] },
            orientation: geometry?.orientationCode,
            affineRas: geometry.map { Array($0.affine.rows.prefix(3)) },
            details: details
        )
    }
}

extension InputInspection.Correction {
    init(_ correction: StackCorrection, isApplied: Bool) {
        let (from, to) = (correction.storedShape, correction.geometry.shape)
        let spacing = correction.geometry.spacing
        self.init(
            isApplied: isApplied,
            tiltDegrees: correction.tiltDegrees,
            shortestStepMm: correction.shortestStep,
            longestStepMm: correction.longestStep,
            interpolatedPlanes: correction.interpolatedPlanes,
            storedShape: [from.x, from.y, from.z],
            shape: [to.x, to.y, to.z],
            spacingMm: [spacing.x, spacing.y, spacing.z]
        )
    }
}

/// All files of the inputs, which are looked at together since labels refer to images anywhere among them.
private struct InspectedInputs: InputClaims {
    let dicom: DICOMInputs
    let done: (@Sendable () -> Void)?
    let inspect: @Sendable ([FoundFile]) throws -> Void

    func claim(_ file: FoundFile) throws -> FileClaim {
        defer { done?() }
        guard !FoundVolume.isVolumeFile(file.fileName), case .fault(let error) = dicom.header(of: file),
            error.code == .mediaDirectory
        else { return .member(family: "inputs") }
        return .directory(of: try dicom.listed(by: file))
    }

    func addItems(of families: [[FoundFile]], _ patients: PatientFolders, to items: FoundItems) throws {
        try inspect(families.flatMap(\.self))
    }
}
