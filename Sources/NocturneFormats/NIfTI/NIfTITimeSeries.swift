/// The fourth axis of a NIfTI file: volumes on one grid, one after the other.
public struct NIfTITimeSeries: Hashable, Sendable {
    /// The most volumes that are read from a file.
    public static let mostVolumes = 16_384

    /// The number of volumes, at least 2.
    public let count: Int
    /// Seconds from one volume to the next, above 0; nil if the header states no time, or no unit of it.
    public let step: Double?
    /// Seconds at the first volume, from the field `toffset`.
    public let start: Double

    /// The time of a volume in seconds; nil if it is not known. Rounded to microseconds: headers have single precision.
    public func seconds(at index: Int) -> Double? {
        step.map { ((start + Double(index) * $0) * 1e6).rounded() / 1e6 }
    }
}
