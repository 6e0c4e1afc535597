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
