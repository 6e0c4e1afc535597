public import NocturneCore

/// A DICOM segmentation (SEG) with its masks.
public struct DICOMSegmentation: Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        /// One bit a pixel and frame.
        case binary
        /// Probability or occupancy; a voxel belongs to the segment from half of the largest value on.
        case fractional
        /// The number of the segment in each pixel.
        case labelMap
    }

    /// A segment, in the order of the object.
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
    /// Of all masks: i = column, j = row, k along row direction × column direction; RAS+ mm.
    public var geometry: VolumeGeometry
    /// Whether the distance of the slices is only stated, since all frames lie on one slice.
    public var isSingleSlice: Bool
    public var segments: [Segment]
    /// Label volumes whose values are segment numbers. More than one where segments overlap; the segments of each do not.
    public var masks: [LabelVolume]
    public var studyInstanceUID: String
    public var seriesInstanceUID: String
    public var sopInstanceUID: String
    public var frameOfReferenceUID: String
    /// The series that was segmented; empty when the object names none.
    public var referencedSeriesUID: String
    /// Facts worth a line in a report that hinder nothing.
    public var notes: [String]
}
