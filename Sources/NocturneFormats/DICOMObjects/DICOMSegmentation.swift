public import NocturneCore

/// A DICOM segmentation (SEG) with its masks.
public struct DICOMSegmentation: Sendable {
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
        public var label: String
        public var description: String
        /// AUTOMATIC, SEMIAUTOMATIC or MANUAL.
        public var algorithmType: String
        public var algorithmName: String
        public var category: DICOMCode?
        public var type: DICOMCode?
        public var color: DICOMDisplayColor?
        /// The index of the volume in ``DICOMSegmentation/masks`` that holds it.
        public var volume: Int
        public var voxelCount: Int
    }

    public var kind: Kind
    /// The grid of all masks: i = column, j = row, k along row direction × column direction; RAS+ mm.
    public var geometry: VolumeGeometry
    /// Whether the slice distance is only stated, not measured, because all frames are on one slice.
    public var isSingleSlice: Bool
    public var segments: [Segment]
    /// Label volumes whose values are segment numbers. More than one where segments overlap; the segments within each
    /// volume do not.
    public var masks: [LabelVolume]
    public var studyInstanceUID: String
    public var seriesInstanceUID: String
    public var sopInstanceUID: String
    public var frameOfReferenceUID: String
    /// The series that was segmented; empty when the object names none.
    public var referencedSeriesUID: String
    /// Remarks for a report that do not prevent reading.
    public var notes: [String]
}
