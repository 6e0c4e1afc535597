import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem

/// A decoded volume on its stored grid.
package struct LoadedVolume: Sendable {
    let source: VolumeSource
    /// One per channel of the case.
    var channels: [Volume]
    /// Of discovery and of the readers.
    var notes: [Note]
    /// The first file with voxels that are NaN or infinite as float32, and their number.
    var nonFinite: (path: String, count: Int)?

    /// With a note about voxels that are NaN or infinite as float32.
    /// - Parameter consequence: what becomes of them.
    func noting(notFinite consequence: Sentence) -> LoadedVolume {
        guard let (_, count) = nonFinite else { return self }
        var noted = self
        noted.notes.append(Note("volume.notFinite", Self.text(notFinite: count) + "; " + consequence))
        return noted
    }

    /// "3 voxels are NaN, infinite or outside the range of float32".
    static func text(notFinite count: Int) -> Sentence {
        "\(own: counted(count, "voxel is", plural: "voxels are")) NaN, infinite or outside the range of float32"
    }
}

/// Reads the voxels of a volume that discovery has found.
struct VolumeLoader {
    let source: VolumeSource
    /// The input as the user knows it, for errors.
    let path: String
    let scope: ComputeScope

    /// - Throws: ``VolumeError`` for a file that has changed since it was found, the readers' errors, `CancelledError`.
    func load() throws -> LoadedVolume {
        if source.format == .dicom { return try series() }
        var channels: [Volume] = []
        var nonFinite: (path: String, count: Int)?
        for file in source.files {
            let (volume, count) = source.format == .tiff ? try stack(at: file) : try channel(at: file)
            channels.append(volume)
            if nonFinite == nil, count > 0 { nonFinite = (file, count) }
        }
        return LoadedVolume(source: source, channels: channels, notes: source.notes ?? [], nonFinite: nonFinite)
    }

    private func changed(_ path: String) -> VolumeError {
        VolumeError(.sourceChanged, path: path, "the file changed since it was found")
    }

    private func stack(at path: String) throws -> (volume: Volume, nonFiniteCount: Int) {
        let read = try TIFFStackReader.readVolume(at: path, scope: scope)
        guard read.header.shape == source.geometry.shape else { throw changed(path) }
        return (Volume(geometry: source.geometry, voxels: read.voxels), read.nonFiniteCount)
    }

    private func series() throws -> LoadedVolume {
        guard let names = source.sliceNames else {
            throw VolumeError(.damagedRecord, path: path, "the journal does not name its slices")
        }
        let series = try DICOMScanner.series(of: names, corrects: source.isCorrected, scope: scope)
        if let problem = series.problem { throw problem }
        guard let geometry = series.geometry, geometry.matches(source.geometry) else {
            throw VolumeError(.sourceChanged, path: path, "the slice positions have changed since the series was found")
        }
        var readerNotes: [Note] = []
        let volume = try DICOMReader.readVolume(series, scope: scope) { readerNotes.append($0) }
        let found = source.notes ?? []
        return LoadedVolume(
            source: source,
            channels: [volume],
            notes: found + series.notes.filter { !found.contains($0) } + readerNotes
        )
    }

    private func channel(at path: String) throws -> (volume: Volume, nonFiniteCount: Int) {
        // Discovery has refused a file without orientation unless it is to be assumed.
        let read = try VolumeFileReader.readVolume(
            at: path,
            assumesOrientation: true,
            timePoint: source.timePoint?.index,
            scope: scope
        )
        guard read.volume.geometry.shape == source.geometry.shape,
            path != source.files[0] || read.volume.geometry == source.geometry,
            read.header.time?.count == source.timePoint?.count
        else { throw changed(path) }
        return (read.volume, read.nonFiniteCount)
    }
}

/// A fault of a volume found during processing.
typealias VolumeError = FileFormatError<VolumeErrorCode>

/// The kinds of ``VolumeError``.
enum VolumeErrorCode: String, FormatErrorCode {
    static let domain = "volume"

    /// What the journal holds of the volume cannot be read.
    case damagedRecord
    /// The volume's files differ from what was found when the inputs were searched.
    case sourceChanged
    /// Voxels are NaN, infinite or outside the range of float32.
    case notFinite
    /// More labels overlap in one place than a label map can hold.
    case tooManyOverlaps
    /// A label map on another grid than its image.
    case otherGrid
    /// Labels whose image is not among the inputs.
    case labelWithoutVolume
    /// A label map with more values than labels have.
    case notLabels
    /// An isosurface with more triangles than are made of a volume of its size.
    case tooManyTriangles
    /// A surface that needs more than the budget leaves to an item with a lean plan.
    case surfaceMemory
}
