import NocturneConcurrency
import NocturneCore
import NocturneMesh
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Reduced surfaces")
struct ReductionTests {
    private func options(_ tolerance: Double) -> SurfaceOptions { SurfaceOptions(tolerance: tolerance) }

    /// The distance of a point from a triangle, by a search over its corners' weights that gets finer.
    private func distance(_ p: SIMD3<Double>, _ corners: [SIMD3<Double>]) -> Double {
        var (best, centre, step) = (Double.infinity, SIMD2(1.0 / 3, 1.0 / 3), 1.0 / 3)
        for _ in 0..<24 {
            var next = centre
            for i in -2...2 {
                for j in -2...2 {
                    let w = centre + step * SIMD2(Double(i), Double(j)) / 2
                    guard w.x >= 0, w.y >= 0, w.x + w.y <= 1 else { continue }
                    let q = w.x * corners[0] + w.y * corners[1] + (1 - w.x - w.y) * corners[2]
                    let found = length(p - q)
                    if found < best { (best, next) = (found, w) }
                }
            }
            (centre, step) = (next, step / 1.5)
        }
        return best
    }

    @Test("a ball keeps its volume and form with a fraction of the triangles, and no point moves by half a voxel")
    func ball() throws {
        let labels = try MeshPhantom.ball(14, spacing: SIMD3(1, 1, 1.5), turned: true, centre: SIMD3(90, -40, 200))
        let whole = try labels.surface(options(0))
        let reduced = try labels.surface(options(0.25))
        let measures = MeshFacts(of: reduced)
        #expect(measures.isClosedManifold && reduced.everyVertexHasOneFan)
        #expect(measures.eulerCharacteristic == 2)
        #expect(4 * reduced.triangles.count < whole.triangles.count)
        #expect(isClose(measures.signedVolume, labels.labelledVolume, relative: 1e-5))
        let triangles = reduced.triangles.map { triangle in
            (0..<3).map { SIMD3<Double>(reduced.vertices[Int(triangle[$0])]) }
        }
        for vertex in stride(from: 0, to: whole.vertices.count, by: 97) {
            let point = SIMD3<Double>(whole.vertices[vertex])
            let near = triangles.filter { length($0[0] - point) < 12 }
            #expect(near.map { distance(point, $0) }.min() ?? .infinity < 0.5)
        }
    }

    @Test("no vertex of rough surfaces is further from the reduced ones than the limit", arguments: [0.2, 0.5, 1])
    func bound(tolerance: Double) throws {
        for seed in UInt64(0)..<2 {
            var dice = SplitMix64(seed: seed)
            let labels = try MeshPhantom.voxels(8) { _, _, _ in dice.unit() < 0.6 }
            // Restoring the volume moves all vertices afterwards.
            func surface(_ tolerance: Double) throws -> SurfaceMesh {
                try labels.surface(SurfaceOptions(restoresVolume: false, tolerance: tolerance))
            }
            let (whole, reduced) = (try surface(0), try surface(tolerance))
            #expect(reduced.triangles.count < whole.triangles.count)
            let triangles = reduced.triangles.map { triangle in
                (0..<3).map { SIMD3<Double>(reduced.vertices[Int(triangle[$0])]) }
            }
            let distances = whole.vertices.map { vertex in
                let point = SIMD3<Double>(vertex)
                return triangles.lazy.filter { corners in corners.contains { length($0 - point) < 4 } }
                    .map { distance(point, $0) }.min() ?? .infinity
            }
            #expect(distances.max() ?? 0 <= tolerance + 1e-4)
        }
    }

    @Test(
        "every shell of random voxels stays closed, with its holes and handles and its volume",
        arguments: [0.3, 0.5, 0.7]
    )
    func random(density: Double) throws {
        for seed in UInt64(0)..<4 {
            var dice = SplitMix64(seed: seed)
            let labels = try MeshPhantom.voxels(16) { _, _, _ in dice.unit() < density }
            let whole = MeshFacts(of: try labels.surface(options(0)))
            for tolerance in [0.1, 0.5, 3] {
                let mesh = try labels.surface(options(tolerance))
                let measures = MeshFacts(of: mesh)
                #expect(measures.isClosedManifold && mesh.everyVertexHasOneFan)
                #expect(measures.eulerCharacteristic == whole.eulerCharacteristic)
                #expect(measures.triangleCount < whole.triangleCount)
                #expect(isClose(measures.signedVolume, labels.labelledVolume, relative: 1e-3))
            }
        }
    }

    @Test("a tube of one voxel and a ring keep their form")
    func thin() throws {
        let tube = try MeshPhantom.voxels(24) { i, j, k in i == 3 && j == 3 && k > 1 && k < 22 }
        let ring = try MeshPhantom.voxels(24) { i, j, k in
            let (x, y) = (Double(i) - 11.5, Double(j) - 11.5)
            let radius = (x * x + y * y).squareRoot()
            return abs(k - 12) < 2 && radius > 6 && radius < 10
        }
        for (labels, characteristic) in [(tube, 2), (ring, 0)] {
            let measures = MeshFacts(of: try labels.surface(options(0.25)))
            #expect(measures.isClosedManifold && measures.eulerCharacteristic == characteristic)
            #expect(isClose(measures.signedVolume, labels.labelledVolume, relative: 1e-4))
        }
    }

    @Test("is the same for any number of threads")
    func threads() async throws {
        let labels = try MeshPhantom.ball(9)
        let reference = try labels.surface(options(0.3))
        let meshes = try await resultsForWidths { scope in
            try SurfaceExtractor.surface(of: 1, in: labels, options: SurfaceOptions(tolerance: 0.3), scope: scope)
        }
        #expect(meshes.allSatisfy { $0.vertices == reference.vertices && $0.triangles == reference.triangles })
    }

    @Test("stops when the flag is raised")
    func cancellation() throws {
        let labels = try MeshPhantom.ball(6)
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) {
            try SurfaceExtractor.surface(of: 1, in: labels, scope: .serial(flag))
        }
    }
}
