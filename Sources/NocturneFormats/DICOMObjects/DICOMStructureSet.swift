/// A DICOM structure set (RTSTRUCT): regions outlined by contours.
public struct DICOMStructureSet: Sendable {
    /// A closed planar contour.
    public struct Contour: Sendable {
        /// RAS+ mm; the last is joined to the first. At least three.
        public var points: [SIMD3<Double>]
        /// The image it was drawn on; empty when the object names none.
        public var imageUID: String
    }

    /// What is outlined. Where contours of one plane lie in each other, even and odd decide what is inside.
    public struct Region: Sendable {
        /// ROINumber.
        public var number: Int
        public var name: String
        public var description: String
        public var color: DICOMDisplayColor?
        public var code: DICOMCode?
        /// What it is for the treatment, e.g. "ORGAN" or "GTV"; often empty.
        public var interpretedType: String
        public var frameOfReferenceUID: String
        public var contours: [Contour]
    }

    public var label: String
    public var studyInstanceUID: String
    public var frameOfReferenceUID: String
    /// The series it was drawn on; empty when the object names none.
    public var referencedSeriesUID: String
    /// The SOPInstanceUIDs of all images that are referred to, in the order of the object, each once.
    public var referencedImageUIDs: [String]
    public var regions: [Region]
    /// Contours that were left out and why, and other facts worth a line in a report.
    public var notes: [String]

    /// Images the contours refer to that are not among those which are there.
    public func missingImages(among instanceUIDs: Set<String>) -> [String] {
        referencedImageUIDs.filter { !instanceUIDs.contains($0) }
    }
}
