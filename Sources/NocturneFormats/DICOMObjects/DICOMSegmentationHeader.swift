internal import CDCMTK
public import NocturneCore
import NocturneSystem

/// The contents of a DICOM segmentation that are known before its pixels are read.
public struct DICOMSegmentationHeader: Sendable {
    public var kind: DICOMSegmentation.Kind
    /// The grid of all masks, as ``DICOMSegmentation/geometry``.
    public var geometry: VolumeGeometry
    /// In the order of the object; their voxels have not been read.
    public var segments: [DICOMSegmentation.Segment]
    /// The maximum number of label volumes that overlapping segments can need: one where no two segments have frames on
    /// the same slice.
    public var maximumVolumeCount: Int
    public var frameOfReferenceUID: String
    /// The series that was segmented; empty when the object names none.
    public var referencedSeriesUID: String
}

extension DICOMSegmentationReader {
    /// Reads everything except the pixels.
    /// - Parameter grid: as for ``read(path:on:limits:flag:)``: the frames are placed on it, or the same error is
    ///   thrown.
    /// - Throws: ``DICOMReadError``.
    public static func readHeader(
        path: String,
        on grid: VolumeGeometry? = nil,
        limits: DICOMObjectLimits = DICOMObjectLimits()
    ) throws(DICOMReadError) -> DICOMSegmentationHeader {
        let file = try SegmentationFile(path: path, limits: limits)
        let facts = file.facts
        let (frames, planes) = try file.placedFrames(on: grid, limits: limits, path: path)
        let segments = try file.segments()
        var onSlice: [Int: Set<Int>] = [:]
        if file.kind != .labelMap {
            for (frame, slice) in zip(frames, planes.slices) { onSlice[slice, default: []].insert(Int(frame.segment)) }
        }
        return DICOMSegmentationHeader(
            kind: file.kind,
            geometry: planes.geometry,
            segments: segments,
            maximumVolumeCount: (onSlice.values.map(\.count).max() ?? 1) < 2 ? 1 : max(segments.count, 1),
            frameOfReferenceUID: shimText(facts.frame_of_reference_uid),
            referencedSeriesUID: shimText(facts.referenced_series_uid)
        )
    }
}
