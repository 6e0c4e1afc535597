import NocturneConcurrency
import NocturneCore
import NocturneMesh
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Surfaces have the right size, place and frame")
struct ShapeTests {
    @Test(
        "a ball has its volume, area and place within 1 %, however the grid lies",
        arguments: [SIMD3(1, 1, 1), SIMD3(0.7, 0.7, 1), SIMD3(0.9, 0.8, 2)],
        [false, true]
    )
    func ball(spacing: SIMD3<Double>, turned: Bool) throws {
        for leftHanded in [false, true] {
            let centre = SIMD3<Double>(-120, 45, 700)
            let labels = try MeshPhantom.ball(
                20,
                spacing: spacing,
                turned: turned,
                leftHanded: leftHanded,
                centre: centre
            )
            let mesh = try labels.surface()
            let measures = MeshFacts(of: mesh)
            #expect(measures.isClosedManifold)
            #expect(measures.eulerCharacteristic == 2)
            #expect(isClose(measures.signedVolume, labels.labelledVolume, relative: 1e-5))
            #expect(isClose(measures.signedVolume, 4.0 / 3 * Double.pi * 8000, relative: 0.01))
            #expect(isClose(measures.area, 4 * Double.pi * 400, relative: 0.01))
            let radii = mesh.vertices.map { length(SIMD3<Double>($0) - centre) }
            #expect((radii.min() ?? 0) > 20 - spacing.max())
            #expect((radii.max() ?? 0) < 20 + spacing.max())
            // Outward: the normal of every triangle looks away from the centre.
            #expect(
                mesh.triangles.allSatisfy { triangle in
                    let (a, b, c) = (
                        SIMD3<Double>(mesh.vertices[Int(triangle.x)]), SIMD3<Double>(mesh.vertices[Int(triangle.y)]),
                        SIMD3<Double>(mesh.vertices[Int(triangle.z)])
                    )
                    return dot(cross(b - a, c - a), a - centre) > -1e-3
                }
            )
        }
    }

    @Test("thick slices make a ball's area at most 5 % too large, and its volume stays exact", arguments: [3.0, 5.0])
    func thickSlices(slice: Double) throws {
        let labels = try MeshPhantom.ball(20, spacing: SIMD3(0.8, 0.8, slice))
        let measures = MeshFacts(of: try labels.surface())
        #expect(isClose(measures.signedVolume, labels.labelledVolume, relative: 1e-5))
        #expect(isClose(measures.area, 4 * Double.pi * 400, relative: 0.05))
    }

    @Test("the raw surface runs half-way between voxel centres")
    func rawBox() throws {
        let affine = Affine(
            columnI: SIMD3(-2, 0, 0),
            columnJ: SIMD3(0, -3, 0),
            columnK: SIMD3(0, 0, 5),
            translation: SIMD3(10, 20, 30)
        )
        let labels = try MeshPhantom.voxels(8, affine) { (2...5).contains($0) && (3...4).contains($1) && $2 == 6 }
        let mesh = try labels.surface(SurfaceOptions(smoothingRounds: 0, restoresVolume: false))
        let low = mesh.vertices.reduce(SIMD3<Float>(repeating: .infinity)) { pointwiseMin($0, $1) }
        let high = mesh.vertices.reduce(SIMD3<Float>(repeating: -.infinity)) { pointwiseMax($0, $1) }
        #expect(low == SIMD3(10 - 11, 20 - 13.5, 30 + 27.5))
        #expect(high == SIMD3(10 - 3, 20 - 7.5, 30 + 32.5))
    }

    @Test(
        "a thin tube keeps volume, length and thickness",
        arguments: [1.0, 1.25, 1.5],
        [SIMD3(1.0, 0, 0), SIMD3(0, 0, 1), SIMD3(0.48, 0.6, 0.64)]
    )
    func tube(radius: Double, direction: SIMD3<Double>) throws {
        let half = 25.0
        let labels = try MeshPhantom.labels(reach: 30) { p in
            let along = dot(p, direction)
            return abs(along) <= half && dot(p, p) - along * along <= radius * radius
        }
        let mesh = try labels.surface()
        let measures = MeshFacts(of: mesh)
        #expect(measures.isClosedManifold)
        #expect(isClose(measures.signedVolume, labels.labelledVolume, relative: 1e-5))
        let points = mesh.vertices.map { SIMD3<Double>($0) }
        let heights = points.map { dot($0, direction) }
        #expect(isClose((heights.max() ?? 0) - (heights.min() ?? 0), 2 * half, absolute: 2.5))
        let middle = points.filter { abs(dot($0, direction)) < half - 4 }
        let distances = middle.map { (dot($0, $0) - dot($0, direction) * dot($0, direction)).squareRoot() }
        #expect((distances.min() ?? 0) > radius * 0.4)
        #expect((distances.max() ?? 9) < radius + 1)
    }

    @Test("a tube one voxel wide in thick slices does not collapse")
    func threadInThickSlices() throws {
        let labels = try MeshPhantom.labels(reach: 20, spacing: SIMD3(0.8, 0.8, 5)) { p in
            abs(p.x) <= 15 && abs(p.y) < 0.5 && abs(p.z) < 2.6
        }
        let mesh = try labels.surface()
        let measures = MeshFacts(of: mesh)
        #expect(measures.isClosedManifold)
        #expect(isClose(measures.signedVolume, labels.labelledVolume, relative: 1e-5))
        #expect(mesh.vertices.allSatisfy { abs($0.y) < 3 && abs($0.z) < 5 && abs($0.x) < 18 })
    }

    @Test("specks beside a large body keep their own volume")
    func specks() throws {
        let labels = try MeshPhantom.voxels(30) { i, j, k in
            let (a, b, c) = (i - 12, j - 12, k - 12)
            return a * a + b * b + c * c <= 64 || (i == 27 && j == 27 && k >= 26)
        }
        let volumes = try labels.surface().shells.map { MeshFacts(of: $0).signedVolume }
        #expect(volumes.count == 2)
        #expect(isClose(volumes.min() ?? 0, 4, relative: 1e-5))
    }

    @Test("smoothing brings the area of a raw ball down to the true one")
    func smoothing() throws {
        let labels = try MeshPhantom.ball(20)
        let raw = MeshFacts(of: try labels.surface(SurfaceOptions(smoothingRounds: 0)))
        #expect(raw.area > 1.05 * 4 * Double.pi * 400)
        #expect(isClose(raw.signedVolume, labels.labelledVolume, relative: 1e-5))
    }

    @Test("the result is bit-identical for 1, 2 and 5 threads")
    func widths() async throws {
        let labels = try MeshPhantom.ball(24, spacing: SIMD3(0.6, 0.6, 0.9), turned: true)
        let results = try await resultsForWidths { scope in
            try SurfaceExtractor.surface(of: 1, in: labels, scope: scope)
        }
        #expect(results[0].vertices.count > 1 << 14)
        for result in results.dropFirst() {
            #expect(result.vertices == results[0].vertices)
            #expect(result.triangles == results[0].triangles)
        }
    }

    @Test("a raised flag stops the extraction")
    func cancelled() throws {
        let flag = CancellationFlag()
        flag.cancel()
        let labels = try MeshPhantom.ball(3)
        #expect(throws: CancelledError.self) {
            try SurfaceExtractor.surface(of: 1, in: labels, scope: .serial(flag))
        }
    }
}
