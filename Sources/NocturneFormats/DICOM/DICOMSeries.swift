public import NocturneCore
public import NocturneSystem

/// The slices of one series, or of a part of it, and their volume, or the reason why they form no volume.
public struct DICOMSeries: Sendable {
    /// Empty when the objects have none; they were then grouped by folder.
    public var seriesInstanceUID: String
    /// The label that distinguishes this part from other parts of the series, for names: "e2", "phase", "p1". Nil for a
    /// series that is not split.
    public var part: String?
    /// Of the first slice; empty when missing.
    public var modality: String
    /// SeriesDescription (0008,103E) of the first slice; nil when missing. May contain names.
    public var description: String?
    /// With a geometry: in the order of k as stored, by increasing position along row direction × column direction.
    /// Otherwise by instance number, then path. Empty if an object's slices could not be determined.
    public var slices: [DICOMSlice]
    /// The files of the slices without repetition, in the order of their first slices.
    public var files: [String]
    /// Voxel i = column, j = row, k = slice, to RAS+ mm. Nil when there is a problem.
    public var geometry: VolumeGeometry?
    /// How ``DICOMReader`` resamples the slices to ``geometry``; nil where the slices are already its planes.
    public var correction: StackCorrection?
    /// The correction that would turn a series that is not a volume into one: scan again and request it. Nil if there
    /// is none.
    public var possibleCorrection: StackCorrection?
    /// Why the series is not a volume; nil when ``DICOMReader`` can read it.
    public var problem: DICOMReadError?
    /// Remarks for the report that do not prevent reading.
    public var notes: [Note] = []
    /// Of a part of a PET series: from the first acquisition of the series to the first one of this part. Nil for all others.
    public var secondsIntoScan: Double?

    static func files(of slices: [DICOMSlice]) -> [String] {
        var known: Set<String> = []
        return slices.map(\.object.path).filter { known.insert($0).inserted }
    }

    /// Which series become volumes although they are not volumes as stored.
    public struct Rules: Sendable, Hashable {
        /// Whether tilted or uneven stacks become volumes by resampling (``DICOMSeries/correction``).
        public var correctsStacks: Bool
        /// Whether images computed from others, such as maps and reformatted planes, become volumes.
        public var includesDerived: Bool

        /// - Parameters:
        ///   - correctsStacks: whether tilted or uneven stacks are resampled.
        ///   - includesDerived: whether images computed from others become volumes.
        public init(correctsStacks: Bool = false, includesDerived: Bool = false) {
            self.correctsStacks = correctsStacks
            self.includesDerived = includesDerived
        }
    }
}
