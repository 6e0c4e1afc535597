internal import CDCMTK
public import NocturneCore
public import NocturneSystem

/// A DICOM segmentation (SEG) with its masks.
public struct DICOMSegmentation: Sendable {
    /// SegmentationType (0062,0001): how masks are stored.
    public enum Kind: String, Sendable, CaseIterable {
        /// One bit per pixel and frame.
        case binary
        /// Probability or occupancy; a voxel belongs to the segment if its value is at least half of the largest value.
        case fractional
        /// Each pixel stores the number of its segment.
        case labelMap
    }

    /// A segment. Segments are in the order of the object.
    public struct Segment: Hashable, Sendable {
        /// SegmentNumber: the value in the masks.
        public var number: UInt16
        /// SegmentLabel (0062,0005).
        public var label: String
        /// SegmentDescription (0062,0006); often empty.
        public var description: String
        /// AUTOMATIC, SEMIAUTOMATIC or MANUAL.
        public var algorithmType: String
        /// SegmentAlgorithmName (0062,0009); empty for manual segments.
        public var algorithmName: String
        /// Such as "Anatomical Structure".
        public var category: CodedConcept?
        /// Such as "Liver".
        public var type: CodedConcept?
        /// The recommended colour; nil where the object has none.
        public var color: LabelColor?
        /// The index of the volume in ``DICOMSegmentation/masks`` that holds it.
        public var volume: Int
        /// Voxels of the segment after reading.
        public var voxelCount: Int
    }

    /// How masks were stored.
    public var kind: Kind
    /// The grid of all masks: i = column, j = row, k along row direction × column direction; RAS+ mm.
    public var geometry: VolumeGeometry
    /// In the order of the object.
    public var segments: [Segment]
    /// Label volumes whose values are segment numbers. More than one where segments overlap; the segments within each
    /// volume do not.
    public var masks: [LabelVolume]
    /// The coordinate system of ``geometry``, shared with the images.
    public var frameOfReferenceUID: String
    /// The series that was segmented; empty when the object names none.
    public var referencedSeriesUID: String
    /// Remarks for a report that do not prevent reading.
    public var notes: [Note]

    /// The contents of a DICOM segmentation that are known before its pixels are read.
    public struct Header: Sendable {
        /// How masks are stored.
        public var kind: DICOMSegmentation.Kind
        /// The grid of all masks, as ``DICOMSegmentation/geometry``.
        public var geometry: VolumeGeometry
        /// In the order of the object; their voxels have not been read.
        public var segments: [DICOMSegmentation.Segment]
        /// The maximum number of label volumes that overlapping segments can need: one where no two segments have frames on
        /// the same slice.
        public var maximumVolumeCount: Int
        /// The coordinate system of ``geometry``.
        public var frameOfReferenceUID: String
        /// The series that was segmented; empty when the object names none.
        public var referencedSeriesUID: String
        /// The images that were segmented, as far as the object names them; each once.
        public var referencedImages: [DICOMImageReference]
    }
}

extension DICOMSegmentation {
    /// Reads which images were segmented. Also of an object whose frames do not form a grid.
    /// - Returns: their series, empty when the object names none; the images, as far as it names them; the coordinate system.
    /// - Throws: ``DICOMReadError``.
    public static func readReference(
        path: String,
        limits: DICOMObjectLimits = DICOMObjectLimits()
    ) throws(DICOMReadError) -> (series: String, images: [DICOMImageReference], frameOfReference: String) {
        let file = try DICOMSegmentation.File(path: path, limits: limits)
        let facts = file.facts
        return (text(facts.referenced_series_uid), try file.images(), text(facts.frame_of_reference_uid))
    }

    /// Reads everything except the pixels.
    /// - Parameter grid: as for ``read(path:on:limits:flag:)``: the frames are placed on it, or the same error is
    ///   thrown.
    /// - Throws: ``DICOMReadError``.
    public static func readHeader(
        path: String,
        on grid: VolumeGeometry? = nil,
        limits: DICOMObjectLimits = DICOMObjectLimits()
    ) throws(DICOMReadError) -> DICOMSegmentation.Header {
        let file = try DICOMSegmentation.File(path: path, limits: limits)
        let facts = file.facts
        let (frames, planes) = try file.placedFrames(on: grid, limits: limits)
        let segments = try file.segments()
        // Segments can only overlap where two of them have frames on one slice. Label maps have one value for each voxel.
        var onSlice: [Int: Set<Int>] = [:]
        if file.kind != .labelMap {
            for (frame, slice) in zip(frames, planes.slices) { onSlice[slice, default: []].insert(Int(frame.segment)) }
        }
        return DICOMSegmentation.Header(
            kind: file.kind,
            geometry: planes.geometry,
            segments: segments,
            maximumVolumeCount: (onSlice.values.map(\.count).max() ?? 1) < 2 ? 1 : max(segments.count, 1),
            frameOfReferenceUID: text(facts.frame_of_reference_uid),
            referencedSeriesUID: text(facts.referenced_series_uid),
            referencedImages: try file.images()
        )
    }
}
