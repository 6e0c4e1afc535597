/// What was measured of one region. Nil is "not measured" or "of no meaning for this kind".
public struct RegionMeasurement: Hashable, Sendable {
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// The whole region lies in the volume.
        case complete
        /// A part lies outside, and is not in the intensities.
        case cut
        /// Nothing of it lies in the volume.
        case outside
        /// ``RegionMeasurement/problem`` says why.
        case notMeasured
    }

    public var name: String
    public var kind: String
    public var status: Status
    public var problem: String?
    /// In mm, the sum over all parts of a line.
    public var length: Double?
    /// In degrees, 0 to 180.
    public var angle: Double?
    /// Of the shape itself, in mm².
    public var area: Double?
    /// Of the shape itself, in mm³.
    public var volume: Double?
    /// The voxels whose centres lie in the shape, or the samples of an oblique plane.
    public var sampleCount: Int?
    /// Samples times the area of one, in mm².
    public var sampledArea: Double?
    /// Voxels times the volume of one, in mm³.
    public var sampledVolume: Double?
    /// The grid axis (0 = i) and the slice of a flat region on the grid.
    public var sliceAxis: Int?
    public var sliceIndex: Int?
    /// The distance of samples on an oblique plane in mm.
    public var sampleSpacing: Double?
    public var intensity: IntensitySummary?

    public init(name: String, kind: String, status: Status, problem: String? = nil) {
        self.name = name
        self.kind = kind
        self.status = status
        self.problem = problem
    }
}
