/// The position of the voxels of a volume: their number along each axis, and the map from indices to RAS+ millimetres.
public struct VolumeGeometry: Hashable, Sendable, Codable {
    /// The number of voxels along i, j and k.
    public var shape: VolumeShape
    /// From voxel indices to RAS+ mm. Integers are voxel centres, so the grid extends from -0.5 to the shape minus
    /// 0.5.
    public var affine: Affine

    /// - Parameters:
    ///   - shape: the number of voxels along i, j and k.
    ///   - affine: from voxel indices to RAS+ mm.
    public init(shape: VolumeShape, affine: Affine) {
        self.shape = shape
        self.affine = affine
    }

    /// The distance in mm between neighbours along i, j and k.
    public var spacing: SIMD3<Double> {
        SIMD3(length(affine.columnI), length(affine.columnJ), length(affine.columnK))
    }

    /// The volume of one voxel in mm³, also correct for sheared grids.
    public var voxelVolume: Double { abs(affine.determinant) }

    /// The three letters of the directions in which i, j, k grow, e.g. "RAS" or "LPS".
    public var orientationCode: String { AxisOrientation(of: affine).code }

    /// Whether the other grid has the same shape and the same voxel positions within `tolerance` mm at every corner.
    public func matches(_ other: VolumeGeometry, tolerance: Double = 1e-3) -> Bool {
        guard shape == other.shape else { return false }
        // The distance of two affine maps is largest at a corner of the grid.
        for corner in 0..<8 {
            let index = SIMD3(
                corner & 1 == 0 ? 0 : Double(shape.x - 1),
                corner & 2 == 0 ? 0 : Double(shape.y - 1),
                corner & 4 == 0 ? 0 : Double(shape.z - 1)
            )
            // NaN does not match either.
            guard length(affine(index) - other.affine(index)) <= tolerance else { return false }
        }
        return true
    }
}

/// The number of voxels along each index axis of a volume.
///
/// **The one axis order of Nocturne**: voxel (i, j, k) is stored at `i + x * (j + y * k)`, so `i` varies fastest. It is
/// the order of NIfTI files, of DICOM slices (column, row, slice), and, read backwards, of the networks' (z, y, x).
public struct VolumeShape: Hashable, Sendable, Codable, CustomStringConvertible {
    /// Along i, which varies fastest.
    public var x: Int
    /// Along j.
    public var y: Int
    /// Along k, which varies slowest.
    public var z: Int

    /// Sizes that are known to be valid; for numbers from a file see ``init(validating:y:z:limit:)``.
    public init(x: Int, y: Int, z: Int) {
        self.x = x
        self.y = y
        self.z = z
    }

    /// The number of voxels. A shape read from a file is always created with ``init(validating:y:z:limit:)``.
    public var count: Int { x * y * z }

    /// Voxels in one slice of constant k.
    public var sliceCount: Int { x * y }

    /// The size along an axis, 0 to 2; every other number is taken for 2.
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

    /// Such as "512×512×300": x, y and z.
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

/// The patient coordinate system in which coordinates are given.
public enum PatientFrame: String, Sendable, Codable, CaseIterable {
    /// x to the patient's left, y to the back, z to the head: DICOM, ITK, Slicer's STL default.
    case lps
    /// x to the right, y to the front, z to the head: NIfTI, FreeSurfer. Nocturne computes in this system.
    case ras
}
