/// A scalar image in float32 (Hounsfield units for CT after rescaling) with its position in the patient.
public struct Volume: Sendable {
    public let geometry: VolumeGeometry
    public let voxels: FrozenVoxels<Float>

    public init(geometry: VolumeGeometry, voxels: FrozenVoxels<Float>) {
        precondition(geometry.shape.count == voxels.count, "voxels do not fill the shape")
        self.geometry = geometry
        self.voxels = voxels
    }
}

/// A label map: 0 is background, any other value is a label of the model package.
public struct LabelVolume: Sendable {
    public let geometry: VolumeGeometry
    public let voxels: FrozenVoxels<UInt16>

    public init(geometry: VolumeGeometry, voxels: FrozenVoxels<UInt16>) {
        precondition(geometry.shape.count == voxels.count, "voxels do not fill the shape")
        self.geometry = geometry
        self.voxels = voxels
    }
}
