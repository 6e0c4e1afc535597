/// The patient coordinate system in which coordinates are given.
public enum PatientFrame: String, Sendable, Codable, CaseIterable {
    /// x to the patient's left, y to the back, z to the head: DICOM, ITK, Slicer's STL default.
    case lps
    /// x to the right, y to the front, z to the head: NIfTI, FreeSurfer. Nocturne computes in this system.
    case ras
}
