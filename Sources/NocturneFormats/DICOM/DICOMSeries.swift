public import NocturneCore

/// The objects of one series, and the volume they make or the reason why they make none.
public struct DICOMSeries: Sendable {
    /// Empty when the objects carry none; they were then grouped by folder.
    public var seriesInstanceUID: String
    /// Of the first slice; empty when missing.
    public var modality: String
    public var description: String?
    /// With a geometry: in the order of k, by growing position along row direction × column direction. Otherwise by
    /// instance number, then path.
    public var slices: [DICOMSlice]
    /// Voxel i = column, j = row, k = slice, to RAS+ mm. Nil when there is a problem.
    public var geometry: VolumeGeometry?
    /// Why the series is no volume; nil when ``DICOMReader`` can read it.
    public var problem: DICOMReadError?
    /// Facts worth a line in the report that hinder nothing.
    public var notes: [String]

    public init(
        seriesInstanceUID: String,
        modality: String,
        description: String?,
        slices: [DICOMSlice],
        geometry: VolumeGeometry?,
        problem: DICOMReadError?,
        notes: [String]
    ) {
        self.seriesInstanceUID = seriesInstanceUID
        self.modality = modality
        self.description = description
        self.slices = slices
        self.geometry = geometry
        self.problem = problem
        self.notes = notes
    }
}
