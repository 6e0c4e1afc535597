/// The number of voxels along each index axis of a volume.
///
/// **The one axis order of Nocturne**: voxel (i, j, k) is stored at `i + x * (j + y * k)`, so `i` varies fastest. It is
/// the order of NIfTI files, of DICOM slices (column, row, slice), and, read backwards, of the networks' (z, y, x).
public struct VolumeShape: Hashable, Sendable, Codable, CustomStringConvertible {
    public var x: Int
    public var y: Int
    public var z: Int

    public init(x: Int, y: Int, z: Int) {
        self.x = x
        self.y = y
        self.z = z
    }

    /// The number of voxels. A shape read from a file is always created with ``init(validating:y:z:limit:)``.
    public var count: Int { x * y * z }

    /// Voxels in one slice of constant k.
    public var sliceCount: Int { x * y }

    public subscript(axis: Int) -> Int {
        get { axis == 0 ? x : axis == 1 ? y : z }
        set {
            switch axis {
            case 0: x = newValue
            case 1: y = newValue
            default: z = newValue
            }
        }
    }

    /// The storage offset of voxel (i, j, k).
    @inlinable
    public func offset(_ i: Int, _ j: Int, _ k: Int) -> Int { i + x * (j + y * k) }

    public var description: String { "\(x)×\(y)×\(z)" }

    /// The maximum number of voxels of a volume: 2³³, about a cube of 2,048. A larger value indicates a damaged header.
    public static let maximumCount = 1 << 33

    /// A shape from untrusted numbers; nil when a size is below 1 or the product is above `limit`.
    public init?(validating x: Int, y: Int, z: Int, limit: Int = VolumeShape.maximumCount) {
        guard x > 0, y > 0, z > 0 else { return nil }
        let (plane, firstOverflow) = x.multipliedReportingOverflow(by: y)
        let (all, secondOverflow) = plane.multipliedReportingOverflow(by: z)
        guard !firstOverflow, !secondOverflow, all <= limit else { return nil }
        self.init(x: x, y: y, z: z)
    }
}
