import NocturneConcurrency
import NocturneCore
import NocturneMesh
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Isosurfaces are closed, bounded and the same each time")
struct IsosurfaceTests {
    private func expectClosed(_ mesh: SurfaceMesh, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(MeshFacts(of: mesh).isClosedManifold, sourceLocation: sourceLocation)
        #expect(mesh.everyVertexHasOneFan, sourceLocation: sourceLocation)
        #expect(mesh.vertices.allSatisfy { $0.x.isFinite && $0.y.isFinite && $0.z.isFinite })
        #expect(Set(mesh.vertices).count == mesh.vertices.count, "points differ", sourceLocation: sourceLocation)
    }

    @Test(
        "noise, where every cell occurs, at the border and for rows longer than a word",
        arguments: [(14, 13, 12), (62, 3, 2), (63, 2, 3), (64, 3, 3), (130, 1, 2), (1, 1, 1), (1, 70, 1)],
        [0.0, 0.2, 0.5, 0.8]
    )
    func noise(size: (Int, Int, Int), value: Double) throws {
        for seed in UInt64(0)..<3 {
            let volume = try IntensityPhantom.noise(VolumeShape(x: size.0, y: size.1, z: size.2), seed: seed)
            let mesh = try volume.isosurface(Float(value))
            guard !mesh.isEmpty else { continue }
            expectClosed(mesh)
            #expect(MeshFacts(of: mesh).signedVolume > 0)
            #expect(mesh.triangles.count <= IsosurfaceExtractor.triangleBound(of: volume.geometry.shape))
            #expect(4 * mesh.vertices.count <= 3 * mesh.triangles.count)
        }
    }

    @Test("a ball cut off by the border is closed there, half a voxel beyond the last voxels")
    func cut() throws {
        let volume = try IntensityPhantom.voxels(24) { i, j, k in
            -Float(length(SIMD3(Double(i), Double(j), Double(k) - 12)))
        }
        let mesh = try volume.isosurface(-17)
        expectClosed(mesh)
        #expect(MeshFacts(of: mesh).eulerCharacteristic == 2)
        #expect(mesh.bounds.lower == SIMD3(-0.5, -0.5, -0.5))
        #expect(mesh.bounds.upper.z == 23.5 && abs(mesh.bounds.upper.x - 17) < 1e-2)
    }

    @Test("a volume that has the value everywhere is a closed block of its voxels' size")
    func full() throws {
        let mesh = try IntensityPhantom.voxels(VolumeShape(x: 6, y: 5, z: 4), .scaling(SIMD3(2, 3, 4))) { _, _, _ in 7 }
            .isosurface(7)
        expectClosed(mesh)
        #expect(mesh.bounds.lower == SIMD3(-1, -1.5, -2) && mesh.bounds.upper == SIMD3(11, 13.5, 14))
    }

    @Test("voxels with exactly the value belong to the body, and the points around them stay apart")
    func exact() throws {
        let integers = try IntensityPhantom.voxels(12) { i, j, k in Float((i * 7 + j * 5 + k * 3) % 5) }
        for value in [1, 2, 3, 4] as [Float] { expectClosed(try integers.isosurface(value)) }
        let one = try IntensityPhantom.voxels(3) { $0 == 1 && $1 == 1 && $2 == 1 ? 300 : 100 }
        let mesh = try one.isosurface(300)
        let centre = SIMD3<Double>(1, 1, 1)
        expectClosed(mesh)
        #expect(mesh.triangles.count == 8)
        #expect(mesh.vertices.allSatisfy { length(SIMD3<Double>($0) - centre) < 1e-3 })
        #expect(try one.isosurface(300.5).isEmpty)
        // The other side: a neighbour that only just misses the value.
        let near = try IntensityPhantom.voxels(3) { $0 == 1 && $1 == 1 && $2 == 1 ? 300 : Float(100).nextDown }
        expectClosed(try near.isosurface(100))
    }

    @Test("NaN counts as below the value; beside it and beside infinity the surface runs half-way")
    func notANumber() throws {
        let volume = try IntensityPhantom.voxels(7) { i, j, k in
            if i == 3 && j == 3 && k == 3 { return .nan }
            if i == 0 { return .infinity }
            return i == 6 ? -.infinity : 50
        }
        let centre = SIMD3<Double>(3, 3, 3)
        let mesh = try volume.isosurface(40)
        expectClosed(mesh)
        let shells = mesh.shells
        #expect(shells.count == 2)
        let cavity = try #require(shells.first { MeshFacts(of: $0).signedVolume < 0 })
        let points = Set(cavity.triangles.flatMap { [$0.x, $0.y, $0.z] }).map { mesh.vertices[Int($0)] }
        #expect(points.count == 6)
        #expect(points.allSatisfy { abs(length(SIMD3<Double>($0) - centre) - 0.5) < 1e-6 })
        #expect(mesh.vertices.map(\.x).max() == 5.5)
        #expect(try IntensityPhantom.voxels(3) { _, _, _ in .nan }.isosurface(0).isEmpty)
    }

    @Test("the bytes are the same for 1, 2, 3 and 5 threads")
    func widths() async throws {
        let volume = try IntensityPhantom.volume(reach: 30, spacing: SIMD3(0.6, 0.6, 0.9), turned: true) {
            -length($0) + 0.3 * ($0.x * 2.1).truncatingRemainder(dividingBy: 1)
        }
        let results = try await resultsForWidths([1, 2, 3, 5]) { scope in
            try IsosurfaceExtractor.surface(at: -20, in: volume, scope: scope)
        }
        #expect(results[0].vertices.count > 1 << 14)
        for result in results.dropFirst() {
            #expect(result.vertices == results[0].vertices)
            #expect(result.triangles == results[0].triangles)
        }
    }

    @Test("a surface with more triangles than the limit is refused with their number; as many as the limit are made")
    func limit() throws {
        let volume = try IntensityPhantom.noise(VolumeShape(x: 20, y: 20, z: 20), seed: 3)
        let count = try volume.isosurface(0.5).triangles.count
        #expect(try volume.isosurface(0.5, limit: count).triangles.count == count)
        let error = #expect(throws: IsosurfaceExtractor.LimitError.self) {
            try volume.isosurface(0.5, limit: count - 1)
        }
        #expect(error?.triangles == count && error?.limit == count - 1)
    }

    @Test("what a surface takes is predicted from the shape and the limit")
    func prediction() throws {
        let shape = VolumeShape(x: 20, y: 21, z: 22)
        for value in [0.1, 0.5, 0.97] as [Float] {
            let mesh = try IntensityPhantom.noise(shape, seed: 5).isosurface(value)
            let bytes = 16 * (mesh.vertices.count + mesh.triangles.count)
            #expect(bytes <= IsosurfaceExtractor.predictedBytes(shape, triangles: mesh.triangles.count))
        }
    }

    @Test("a raised flag stops the extraction")
    func cancelled() throws {
        let flag = CancellationFlag()
        flag.cancel()
        let volume = try IntensityPhantom.noise(VolumeShape(x: 5, y: 5, z: 5), seed: 1)
        #expect(throws: CancelledError.self) {
            try IsosurfaceExtractor.surface(at: 0.5, in: volume, scope: .serial(flag))
        }
    }
}
