/// The position of the voxels of a volume: their number along each axis, and the map from indices to RAS+ millimetres.
public struct VolumeGeometry: Hashable, Sendable, Codable {
    public var shape: VolumeShape
    public var affine: Affine

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
