public import NocturneCore

extension SurfaceMesh {
    /// The enclosed volume in mm³, positive when the corners are counter-clockwise seen from outside, and the area in mm².
    ///
    /// The mesh need not be closed or consistent. Triangles that refer to a vertex that does not exist are omitted from both
    /// sums. Time is linear.
    public var measures: (signedVolume: Double, area: Double) {
        let count = UInt32(clamping: vertices.count)
        // Relative to the first vertex, so that a small surface far from the origin loses no precision.
        let origin = vertices.first.map { SIMD3<Double>($0) } ?? .zero
        var volumeTimesSix = 0.0
        var doubledArea = 0.0
        for triangle in triangles where triangle.x < count && triangle.y < count && triangle.z < count {
            let a = SIMD3<Double>(vertices[Int(triangle.x)]) - origin
            let b = SIMD3<Double>(vertices[Int(triangle.y)]) - origin
            let c = SIMD3<Double>(vertices[Int(triangle.z)]) - origin
            volumeTimesSix += dot(a, cross(b, c))
            doubledArea += length(cross(b - a, c - a))
        }
        return (volumeTimesSix / 6, doubledArea / 2)
    }
}
