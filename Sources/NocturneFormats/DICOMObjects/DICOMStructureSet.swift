/// A DICOM structure set (RTSTRUCT): regions outlined by contours.
public struct DICOMStructureSet: Sendable {
    /// A closed planar contour.
    public struct Contour: Sendable {
        /// RAS+ mm; the last point is connected to the first. At least three.
        public var points: [SIMD3<Double>]
        /// The image it was drawn on; empty when the object names none.
        public var imageUID: String
    }

    /// An outlined region. Where contours of one plane are nested, the even-odd rule decides what is inside.
    public struct Region: Sendable {
        /// ROINumber.
        public var number: Int
        public var name: String
        public var description: String
        public var color: DICOMDisplayColor?
        public var code: DICOMCode?
        /// The role of the region in treatment planning, e.g. "ORGAN" or "GTV"; often empty.
        public var interpretedType: String
        public var frameOfReferenceUID: String
        public var contours: [Contour]
    }

    public var label: String
    public var studyInstanceUID: String
    public var frameOfReferenceUID: String
    /// The series it was drawn on; empty when the object names none.
    public var referencedSeriesUID: String
    /// The SOPInstanceUIDs of all referenced images, in the order of the object, without repetition.
    public var referencedImageUIDs: [String]
    public var regions: [Region]
    /// Contours that were omitted and why, and other remarks for a report.
    public var notes: [String]

    /// Images that the contours refer to but that are not among the given ones.
    public func missingImages(among instanceUIDs: Set<String>) -> [String] {
        referencedImageUIDs.filter { !instanceUIDs.contains($0) }
    }
}
