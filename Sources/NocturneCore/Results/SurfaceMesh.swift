/// A closed triangle surface in millimetres, RAS+, corners counter-clockwise seen from outside.
public struct SurfaceMesh: Sendable {
    /// In RAS+ mm, single precision: about 0.00001 mm of rounding at 100 mm.
    public var vertices: [SIMD3<Float>]
    /// Indices of three vertices, counter-clockwise seen from outside.
    public var triangles: [SIMD3<UInt32>]

    /// - Parameters:
    ///   - vertices: in RAS+ mm.
    ///   - triangles: indices of vertices, counter-clockwise seen from outside; they are not checked.
    public init(vertices: [SIMD3<Float>] = [], triangles: [SIMD3<UInt32>] = []) {
        self.vertices = vertices
        self.triangles = triangles
    }

    /// Whether there is no triangle. Vertices alone are not a surface.
    public var isEmpty: Bool { triangles.isEmpty }
}
