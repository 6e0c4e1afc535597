internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

extension SurfaceExtractor {
    /// Gives every closed shell of a surface the volume of the voxels it encloses, by moving its vertices along their
    /// normals.
    ///
    /// **The target volume.** By the divergence theorem the volume inside a boundary of voxel faces is the sum over the
    /// faces across i of ±i times their area. Each such face holds one vertex of the surface, so summing over a shell's
    /// vertices gives its own voxel volume exactly: negative for the wall of a cavity, and the shells of a label add up to
    /// its voxels.
    ///
    /// **The displacement.** If every vertex p is moved to p + t·n, the enclosed volume is a cubic in t; Newton's method
    /// finds the root closest to 0. An offset preserves the length of a long thin shape and only restores the thickness of
    /// its voxels, which scaling about the centroid would not.
    struct ComponentVolumes {
        /// The enclosed volume as a polynomial in the offset t, times 6.
        private struct Cubic {
            var c0 = 0.0
            var c1 = 0.0
            var c2 = 0.0
            var c3 = 0.0

            /// The t closest to 0 where the cubic equals `target`; nil when Newton's method does not converge.
            func offset(reaching target: Double) -> Double? {
                var t = 0.0
                for _ in 0..<60 {
                    let error = c0 + t * (c1 + t * (c2 + t * c3)) - target
                    if abs(error) <= 1e-13 * abs(target) { return t }
                    let slope = c1 + t * (2 * c2 + t * 3 * c3)
                    guard slope > 0 else { return nil }
                    t -= error / slope
                }
                let error = c0 + t * (c1 + t * (c2 + t * c3)) - target
                return abs(error) <= 1e-9 * abs(target) ? t : nil
            }
        }

        private let shellOf: [UInt32]
        /// In mm³.
        private let targets: [Double]
        private let sizes: [Double]

        /// - Parameters:
        ///   - doubledVolumes: ``SurfaceExtractor/RawSurface/doubledVolumes``.
        ///   - voxelVolume: in mm³.
        init(_ triangles: [SIMD3<UInt32>], doubledVolumes: [Int32], voxelVolume: Double) {
            var shells = DisjointSets(count: doubledVolumes.count)
            for triangle in triangles {
                for corner in 1..<3 { shells.join(Int(triangle[0]), Int(triangle[corner])) }
            }
            let (shellOf, count) = shells.numbered()
            var targets = [Double](repeating: 0, count: count)
            for (vertex, shell) in shellOf.enumerated() { targets[Int(shell)] += Double(doubledVolumes[vertex]) }
            // The sums are integers, hence exact; rounding starts here.
            self.init(shellOf: shellOf, targets: targets.map { $0 / 2 * voxelVolume })
        }

        private init(shellOf: [UInt32], targets: [Double]) {
            var sizes = [Double](repeating: 0, count: targets.count)
            for shell in shellOf { sizes[Int(shell)] += 1 }
            (self.shellOf, self.targets, self.sizes) = (shellOf, targets, sizes)
        }

        /// For each vertex how far the surface may deviate: at most the volume of its shell divided by the area, a third of the radius of
        /// a ball, so that small and thin shells are not flattened.
        func limits(_ tolerance: Double, _ points: [SIMD3<Double>], _ triangles: [SIMD3<UInt32>]) -> [Float] {
            var areas = [Double](repeating: 0, count: targets.count)
            for triangle in triangles {
                let (a, b, c) = (points[Int(triangle.x)], points[Int(triangle.y)], points[Int(triangle.z)])
                areas[Int(shellOf[Int(triangle.x)])] += length(cross(b - a, c - a)) / 2
            }
            let limits = zip(targets, areas).map { Float(min(tolerance, abs($0) / $1)) }
            return shellOf.map { limits[Int($0)] }
        }

        /// The same volumes for a surface with some of the vertices.
        func keeping(_ vertices: [UInt32]) -> ComponentVolumes {
            ComponentVolumes(shellOf: vertices.map { shellOf[Int($0)] }, targets: targets)
        }

        /// Moves `points` (in mm, relative to a nearby origin). Extra memory: 32 bytes per vertex.
        /// - Throws: ``CancelledError`` when the flag is raised; it is checked between the passes over the triangles.
        func restore(
            _ points: inout [SIMD3<Double>],
            _ triangles: [SIMD3<UInt32>],
            scope: ComputeScope
        ) throws(CancelledError) {
            var centres = [SIMD3<Double>](repeating: .zero, count: targets.count)
            for (vertex, shell) in shellOf.enumerated() { centres[Int(shell)] += points[vertex] }
            for shell in centres.indices { centres[shell] /= sizes[shell] }
            try scope.check()
            let normals = Self.unitNormals(points, triangles)
            try scope.check()
            let cubics = cubics(points, triangles, normals, centres)
            try scope.check()

            let offsets = cubics.indices.map { cubics[$0].offset(reaching: 6 * targets[$0]) }
            // A shell too irregular for an offset is scaled instead.
            let scales = cubics.indices.map { shell -> Double in
                let ratio = 6 * targets[shell] / cubics[shell].c0
                return offsets[shell] == nil && ratio.isFinite && ratio > 0 ? Self.cubeRoot(ratio) : 1
            }
            for (vertex, shell) in shellOf.enumerated() {
                if let offset = offsets[Int(shell)] {
                    points[vertex] += offset * normals[vertex]
                } else {
                    let centre = centres[Int(shell)]
                    points[vertex] = centre + scales[Int(shell)] * (points[vertex] - centre)
                }
            }
        }

        private func cubics(
            _ points: [SIMD3<Double>],
            _ triangles: [SIMD3<UInt32>],
            _ normals: [SIMD3<Double>],
            _ centres: [SIMD3<Double>]
        ) -> [Cubic] {
            var cubics = [Cubic](repeating: Cubic(), count: targets.count)
            for triangle in triangles {
                let (u, v, w) = (Int(triangle.x), Int(triangle.y), Int(triangle.z))
                let shell = Int(shellOf[u])
                // Relative to the shell's own centre, so that small shells far from the origin lose no precision.
                let (a, b, c) = (points[u] - centres[shell], points[v] - centres[shell], points[w] - centres[shell])
                let (na, nb, nc) = (normals[u], normals[v], normals[w])
                let bc = cross(b, c)
                let mixed = cross(nb, c) + cross(b, nc)
                let nbnc = cross(nb, nc)
                cubics[shell].c0 += dot(a, bc)
                cubics[shell].c1 += dot(na, bc) + dot(a, mixed)
                cubics[shell].c2 += dot(na, mixed) + dot(a, nbnc)
                cubics[shell].c3 += dot(na, nbnc)
            }
            return cubics
        }

        /// Area-weighted, of length 1; zero where the triangles around a vertex cancel out.
        private static func unitNormals(
            _ points: [SIMD3<Double>],
            _ triangles: [SIMD3<UInt32>]
        ) -> [SIMD3<Double>] {
            var normals = [SIMD3<Double>](repeating: .zero, count: points.count)
            for triangle in triangles {
                let (u, v, w) = (Int(triangle.x), Int(triangle.y), Int(triangle.z))
                let normal = cross(points[v] - points[u], points[w] - points[u])
                normals[u] += normal
                normals[v] += normal
                normals[w] += normal
            }
            for vertex in normals.indices {
                let size = length(normals[vertex])
                if size > 0 { normals[vertex] /= size }
            }
            return normals
        }

        private static func cubeRoot(_ x: Double) -> Double {
            // Newton's method from above converges for every positive number, and needs no mathematical library.
            var root = max(x, 1)
            for _ in 0..<200 {
                let next = (2 * root + x / (root * root)) / 3
                if next >= root { break }
                root = next
            }
            return root
        }
    }
}
