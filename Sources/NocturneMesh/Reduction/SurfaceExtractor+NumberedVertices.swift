extension SurfaceExtractor {
    /// Numbers the vertices that triangles have.
    /// - Returns: those vertices, ascending.
    static func numberVertices(of triangles: inout [SIMD3<UInt32>], vertexCount: Int) -> [UInt32] {
        var places = [UInt32](repeating: 0, count: vertexCount)
        for triangle in triangles {
            for corner in 0..<3 { places[Int(triangle[corner])] = 1 }
        }
        let kept = places.indices.filter { places[$0] == 1 }.map { UInt32($0) }
        for (place, vertex) in kept.enumerated() { places[Int(vertex)] = UInt32(place) }
        for index in triangles.indices {
            let triangle = triangles[index]
            triangles[index] = SIMD3(places[Int(triangle.x)], places[Int(triangle.y)], places[Int(triangle.z)])
        }
        return kept
    }
}
