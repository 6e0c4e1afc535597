import NocturneSystem

extension SurfaceExtractor {
    /// The triangles around each vertex of a closed surface: 4 bytes per vertex and 12 per triangle.
    struct VertexFans: Sendable {
        private let starts: [UInt32]
        /// The places of the triangles around each vertex.
        private let places: [UInt32]

        init(vertexCount: Int, triangles: [SIMD3<UInt32>]) {
            var starts = [UInt32](repeating: 0, count: vertexCount + 1)
            for triangle in triangles {
                for corner in 0..<3 { starts[Int(triangle[corner])] += 1 }
            }
            // Counted down from the ends, so that no copy of the starts is needed.
            var end: UInt32 = 0
            for vertex in starts.indices {
                end += starts[vertex]
                starts[vertex] = end
            }
            var places: [UInt32] = uninitialized(3 * triangles.count)
            for (place, triangle) in triangles.enumerated() {
                for corner in 0..<3 {
                    let vertex = Int(triangle[corner])
                    starts[vertex] -= 1
                    places[Int(starts[vertex])] = UInt32(truncatingIfNeeded: place)
                }
            }
            self.starts = starts
            self.places = places
        }

        /// The places of the triangles around a vertex, in the order of ``edges(of:_:)``.
        func triangles(of vertex: Int) -> ArraySlice<UInt32> { places[Int(starts[vertex])..<Int(starts[vertex + 1])] }

        /// The edges opposite of a vertex, counter-clockwise seen from outside. On a closed surface every neighbour begins one of
        /// them.
        func edges(of vertex: Int, _ triangles: [SIMD3<UInt32>]) -> some Collection<SIMD2<UInt32>> {
            self.triangles(of: vertex).lazy.map { place in
                let triangle = triangles[Int(place)]
                return triangle.x == vertex
                    ? SIMD2(triangle.y, triangle.z)
                    : triangle.y == vertex ? SIMD2(triangle.z, triangle.x) : SIMD2(triangle.x, triangle.y)
            }
        }
    }
}
