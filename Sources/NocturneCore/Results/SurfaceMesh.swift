/// The patient frame in which coordinates are given.
public enum PatientFrame: String, Sendable, Codable, CaseIterable {
    /// x to the patient's left, y to the back, z to the head: DICOM, ITK, Slicer's STL default.
    case lps
    /// x to the right, y to the front, z to the head: NIfTI, FreeSurfer. What Nocturne computes in.
    case ras
}

/// A closed triangle surface in millimetres, RAS+, corners counter-clockwise seen from outside.
public struct SurfaceMesh: Sendable {
    public var vertices: [SIMD3<Float>]
    public var triangles: [SIMD3<UInt32>]

    public init(vertices: [SIMD3<Float>] = [], triangles: [SIMD3<UInt32>] = []) {
        self.vertices = vertices
        self.triangles = triangles
    }

    public var isEmpty: Bool { triangles.isEmpty }
}
