/// The vertices that share an edge with each vertex of a closed surface: 4 bytes per edge end and 4 per vertex.
struct VertexNeighbours: Sendable {
    /// The start of each vertex's neighbours in `neighbours`, and the total number at the end.
    let starts: [UInt32]
    let neighbours: [UInt32]

    /// On a closed surface every edge leaves each of its ends in exactly one triangle, so one traversal of each
    /// triangle finds every neighbour once.
    init(vertexCount: Int, triangles: [SIMD3<UInt32>]) {
        var starts = [UInt32](repeating: 0, count: vertexCount + 1)
        for triangle in triangles {
            for corner in 0..<3 { starts[Int(triangle[corner]) + 1] += 1 }
        }
        for vertex in 0..<vertexCount { starts[vertex + 1] += starts[vertex] }
        var next = starts
        var neighbours = [UInt32](repeating: 0, count: triangles.count * 3)
        for triangle in triangles {
            for corner in 0..<3 {
                let vertex = Int(triangle[corner])
                neighbours[Int(next[vertex])] = triangle[(corner + 1) % 3]
                next[vertex] += 1
            }
        }
        self.starts = starts
        self.neighbours = neighbours
    }
}
