public import NocturneCore
public import NocturneSystem

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
        /// ROIName (3006,0026).
        public var name: String
        /// ROIDescription (3006,0028); often empty.
        public var description: String
        /// ROIDisplayColor (3006,002A); nil where the object has none.
        public var color: LabelColor?
        /// What the region is, as a code; nil where the object has none.
        public var code: CodedConcept?
        /// The role of the region in treatment planning, e.g. "ORGAN" or "GTV"; often empty.
        public var interpretedType: String
        /// The coordinate system of the contours.
        public var frameOfReferenceUID: String
        /// In the order of the object.
        public var contours: [Contour]
        /// Contours that were omitted and why, and other remarks for a report; each starts with the name.
        public var notes: [Note] = []
    }

    /// StructureSetLabel (3006,0002).
    public var label: String
    /// The coordinate system of the images; that of the first region with one where the set itself names none.
    public var frameOfReferenceUID: String
    /// The series it was drawn on; empty when the object names none.
    public var referencedSeriesUID: String
    /// The SOPInstanceUIDs of all referenced images, in the order of the object, without repetition.
    public var referencedImageUIDs: [String]
    /// In the order of the object.
    public var regions: [Region]
    /// Of all regions.
    public var notes: [Note] { regions.flatMap(\.notes) }

    /// Images that the contours refer to but that are not among the given ones.
    public func missingImages(among instanceUIDs: Set<String>) -> [String] {
        referencedImageUIDs.filter { !instanceUIDs.contains($0) }
    }
}
