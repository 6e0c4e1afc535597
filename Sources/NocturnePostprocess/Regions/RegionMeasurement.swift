/// The measurements of one region. Nil means "not measured" or "not applicable to this kind".
public struct RegionMeasurement: Hashable, Sendable {
    /// How much of the region could be measured.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// The whole region is in the volume.
        case complete
        /// A part is outside, and is not included in the intensities.
        case cut
        /// No part of the region is in the volume.
        case outside
        /// ``RegionMeasurement/problem`` states the reason.
        case notMeasured
    }

    /// The region, as the user named it.
    public var name: String
    /// The kind of shape, as in the file of regions.
    public var kind: String
    /// How much of the region could be measured.
    public var status: Status
    /// Why it was not measured; nil otherwise.
    public var problem: String?
    /// In mm, the sum over all parts of a line.
    public var length: Double?
    /// In degrees, 0 to 180.
    public var angle: Double?
    /// Of the shape itself, in mm².
    public var area: Double?
    /// Of the shape itself, in mm³.
    public var volume: Double?
    /// The number of voxels whose centres are in the shape, or of samples of an oblique plane.
    public var sampleCount: Int?
    /// Samples times the area of one, in mm².
    public var sampledArea: Double?
    /// Voxels times the volume of one, in mm³.
    public var sampledVolume: Double?
    /// The grid axis (0 = i) and the slice of a flat region on the grid.
    public var sliceAxis: Int?
    /// The slice of a flat region on the grid, from 0.
    public var sliceIndex: Int?
    /// The distance between samples on an oblique plane in mm.
    public var sampleSpacing: Double?
    /// Of the voxels or samples in the shape, in the unit of the image.
    public var intensity: IntensitySummary?
}
