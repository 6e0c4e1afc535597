internal import NocturneConcurrency
import NocturneSystem

extension SurfaceExtractor {
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
}

extension SurfaceExtractor.VertexNeighbours {
    /// Smooths a closed surface with the λ|μ filter of G. Taubin, "A signal processing approach to fair surface design"
    /// (SIGGRAPH 1995): a step towards the mean of the neighbours, then a slightly longer one away from it.
    ///
    /// All neighbours have the same weight, so the filter commutes with the map from indices to millimetres: its effect on
    /// a shape does not depend on the orientation of the grid. Every vertex is computed from the previous step, so threads
    /// can share a step and the result is the same for any number of them. Extra memory: 32 bytes per vertex.
    /// - Throws: ``CancelledError`` when the flag is raised; it is checked many times per round.
    func smooth(
        _ points: inout [SIMD3<Double>],
        rounds: Int,
        scope: ComputeScope
    ) throws(CancelledError) {
        var moved = points
        for _ in 0..<rounds {
            // λ and μ: the step back has a slightly larger magnitude.
            try step(from: points, to: &moved, factor: 0.6, scope)
            try step(from: moved, to: &points, factor: -0.62, scope)
        }
    }

    private func step(
        from points: [SIMD3<Double>],
        to moved: inout [SIMD3<Double>],
        factor: Double,
        _ scope: ComputeScope
    ) throws(CancelledError) {
        let count = points.count
        try points.withParallelReader { source throws(CancelledError) in
            try moved.withParallelBuffer { target throws(CancelledError) in
                try scope.forEachRange(of: count, by: 1 << 14) { range in
                    starts.withUnsafeBufferPointer { starts in
                        neighbours.withUnsafeBufferPointer { neighbours in
                            for vertex in range {
                                var sum = SIMD3<Double>.zero
                                let own = Int(starts[vertex])..<Int(starts[vertex + 1])
                                for place in own { sum += source[Int(neighbours[place])] }
                                let point = source[vertex]
                                target[vertex] = point + factor * (sum / Double(own.count) - point)
                            }
                        }
                    }
                }
            }
        }
    }
}
