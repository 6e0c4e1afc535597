public import NocturneCore
public import NocturneSystem

/// A DICOM structure set (RTSTRUCT): regions outlined by contours.
public struct DICOMStructureSet: Sendable {
    /// A closed planar contour.
    public struct Contour: Sendable {
        /// RAS+ mm; the last point is connected to the first. At least three.
        public var points: [SIMD3<Double>]
        /// The image it was drawn on; nil when the object names none.
        public var image: DICOMImageReference?
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
    /// The images that the set lists, each once. Some list images of other series as well.
    public var listedImages: [DICOMImageReference]
    /// In the order of the object.
    public var regions: [Region]
    /// The images that the contours were drawn on; where none of them names one, those that the set lists.
    public var images: Set<DICOMImageReference> {
        let drawn = Set(regions.flatMap(\.contours).compactMap(\.image))
        return drawn.isEmpty ? Set(listedImages) : drawn
    }
    /// Of all regions.
    public var notes: [Note] { regions.flatMap(\.notes) }

    /// Leaves out the contours of regions in another frame of reference, with a note: their coordinates are those of other
    /// images. A set without any region in the frame is not changed: images may have been given new identifiers.
    /// - Parameter uid: the frame of the images; empty where it is not known, for that of the set.
    /// - Returns: a note about a set without any region in the frame; nil for other sets.
    public mutating func keepRegions(inFrameOfReference uid: String) -> Note? {
        let frame = uid.isEmpty ? frameOfReferenceUID : uid
        guard regions.contains(where: { $0.frameOfReferenceUID == frame && !$0.contours.isEmpty }) else {
            if regions.allSatisfy(\.frameOfReferenceUID.isEmpty) { return nil }
            let text: Sentence =
                "its frame of reference is not that of the images, so positions may not agree; it is used nevertheless"
            return Note("structureSet.otherFrames", text)
        }
        for index in regions.indices where ![frame, ""].contains(regions[index].frameOfReferenceUID) {
            regions[index].contours = []
            let reason: Sentence = "left out, its contours are in another frame of reference than the images"
            regions[index].notes.append(Note("structureSet.otherFrame", "\(regions[index].name): \(own: reason)"))
        }
        return nil
    }
}
