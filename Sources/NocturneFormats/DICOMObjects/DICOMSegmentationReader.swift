internal import CDCMTK
public import NocturneCore
public import NocturneSystem

/// Reads DICOM segmentations (SEG): BINARY, FRACTIONAL and LABELMAP.
///
/// Frames may be uncompressed (also bits without padding), deflated as a whole or individually, RLE, JPEG 2000, JPEG-LS
/// or JPEG lossless. They may be in any order and sparse, and planes may be shared or missing.
extension DICOMSegmentation {
    /// Reads one object with its masks.
    ///
    /// Safe for hostile files: the sizes in the header are checked against the limits and the file before memory is
    /// allocated.
    /// - Parameters:
    ///   - grid: the grid of the masks, whose pixels are those of the frames, for instance the grid of the series that
    ///     was segmented. Nil for the planes from the first to the last frame.
    /// - Throws: ``DICOMReadError``; `CancelledError`.
    /// - Complexity: every frame is decoded twice if each segment has its own frames. 2 bytes per voxel and mask
    ///   volume.
    public static func read(
        path: String,
        on grid: VolumeGeometry? = nil,
        limits: DICOMObjectLimits = DICOMObjectLimits(),
        flag: CancellationFlag = CancellationFlag()
    ) throws -> DICOMSegmentation {
        let file = try DICOMSegmentation.File(path: path, limits: limits)
        let facts = file.facts
        // The grid is known from the functional groups, before any pixel is decoded.
        let (frames, planes) = try file.placedFrames(on: grid, limits: limits)
        var segments = try file.segments()
        // Numbers are the values of the masks: with equal ones, two segments would become one.
        guard Set(segments.map(\.number)).count == segments.count else {
            throw DICOMReadError(
                .notReadable,
                path: path,
                detail: "two segments have the same SegmentNumber (0062,0004)"
            )
        }
        var masks = MaskVolumes(geometry: planes.geometry, limits: limits, path: path)
        var notes: [Note] = []
        if file.kind == .labelMap {
            try masks.readLabels(of: file, slices: planes.slices, segments: &segments, flag: flag)
        } else {
            try masks.readSegments(of: file, frames: frames, slices: planes.slices, segments: &segments, flag: flag)
            if file.kind == .fractional {
                notes.append(
                    Note(
                        "segmentation.fractional",
                        "fractional: voxels from half of \(facts.maximum_fraction) on are included"
                    )
                )
            }
        }
        if planes.isSingleSlice {
            notes.append(Note("segmentation.singleSlice", "one slice; its thickness is stated, not measured"))
        }
        return DICOMSegmentation(
            kind: file.kind,
            geometry: planes.geometry,
            segments: segments,
            masks: masks.frozen(),
            frameOfReferenceUID: text(facts.frame_of_reference_uid),
            referencedSeriesUID: text(facts.referenced_series_uid),
            notes: notes
        )
    }
}
