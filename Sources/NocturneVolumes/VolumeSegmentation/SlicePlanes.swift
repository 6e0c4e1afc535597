/// Perpendicular to which axes the animated slices are cut.
public enum SlicePlanes: String, Sendable, Hashable, Codable, CaseIterable {
    /// Along the axis with the longest voxels, as such volumes are acquired: one animation, `slices.png`.
    case acquired
    /// One animation for each of the three planes: `slices-axial.png`, `slices-coronal.png` and `slices-sagittal.png`.
    case all
}
