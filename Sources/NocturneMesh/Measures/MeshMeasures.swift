public import NocturneCore

/// The size of a triangle surface.
///
/// Time is linear. Triangles that refer to a vertex that does not exist are omitted from both sums.
public struct MeshMeasures: Hashable, Sendable {
    /// The enclosed volume in mm³: positive when the corners are counter-clockwise seen from outside.
    public let signedVolume: Double
    /// The area in mm².
    public let area: Double

    /// Measures a mesh from any file; it need not be closed or consistent.
    public init(of mesh: SurfaceMesh) {
        let count = UInt32(clamping: mesh.vertices.count)
        // Relative to the first vertex, so that a small surface far from the origin loses no precision.
        let origin = mesh.vertices.first.map { SIMD3<Double>($0) } ?? .zero
        var volumeTimesSix = 0.0
        var doubledArea = 0.0
        for triangle in mesh.triangles where triangle.x < count && triangle.y < count && triangle.z < count {
            let a = SIMD3<Double>(mesh.vertices[Int(triangle.x)]) - origin
            let b = SIMD3<Double>(mesh.vertices[Int(triangle.y)]) - origin
            let c = SIMD3<Double>(mesh.vertices[Int(triangle.z)]) - origin
            volumeTimesSix += dot(a, cross(b, c))
            doubledArea += length(cross(b - a, c - a))
        }
        signedVolume = volumeTimesSix / 6
        area = doubledArea / 2
    }
}
