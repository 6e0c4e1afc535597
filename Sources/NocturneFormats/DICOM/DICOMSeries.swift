public import NocturneCore

/// The slices of one series, or of a part of it, and the volume they make or the reason why they make none.
public struct DICOMSeries: Sendable {
    /// Empty when the objects carry none; they were then grouped by folder.
    public var seriesInstanceUID: String
    /// What tells this part from the others of the same series, for names: "e2", "phase", "p1". Nil for a series that
    /// is not taken apart.
    public var part: String?
    /// Of the first slice; empty when missing.
    public var modality: String
    public var description: String?
    /// With a geometry: in the order of k as stored, by growing position along row direction × column direction.
    /// Otherwise by instance number, then path. Empty where an object's slices could not be told.
    public var slices: [DICOMSlice]
    /// The files of the slices, each once, in the order of their first slices.
    public var files: [String]
    /// Voxel i = column, j = row, k = slice, to RAS+ mm. Nil when there is a problem.
    public var geometry: VolumeGeometry?
    /// How ``DICOMReader`` puts the slices on ``geometry``; nil where they are its planes.
    public var correction: StackCorrection?
    /// What would make a volume of a series that is none: scan again and ask for it. Nil where nothing would.
    public var possibleCorrection: StackCorrection?
    /// Why the series is no volume; nil when ``DICOMReader`` can read it.
    public var problem: DICOMReadError?
    /// Facts worth a line in the report that hinder nothing.
    public var notes: [String]

    public init(
        seriesInstanceUID: String,
        part: String? = nil,
        modality: String,
        description: String?,
        slices: [DICOMSlice],
        files: [String]? = nil,
        geometry: VolumeGeometry?,
        correction: StackCorrection? = nil,
        possibleCorrection: StackCorrection? = nil,
        problem: DICOMReadError?,
        notes: [String]
    ) {
        self.seriesInstanceUID = seriesInstanceUID
        self.part = part
        self.modality = modality
        self.description = description
        self.slices = slices
        self.files = files ?? Self.files(of: slices)
        self.geometry = geometry
        self.correction = correction
        self.possibleCorrection = possibleCorrection
        self.problem = problem
        self.notes = notes
    }

    static func files(of slices: [DICOMSlice]) -> [String] {
        var known: Set<String> = []
        return slices.map(\.object.path).filter { known.insert($0).inserted }
    }
}
