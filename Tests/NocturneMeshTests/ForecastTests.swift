import NocturneConcurrency
import NocturneCore
import NocturneMesh
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("What surfaces will take")
struct ForecastTests {
    private func random(_ shape: VolumeShape, labels: Int, empty: Double, seed: UInt64) throws -> LabelVolume {
        var dice = SplitMix64(seed: seed)
        let values = (0..<shape.count).map { _ in
            Double.random(in: 0..<1, using: &dice) < empty ? 0 : UInt16(Int.random(in: 1...labels, using: &dice))
        }
        return LabelVolume(
            geometry: VolumeGeometry(shape: shape, affine: .identity),
            voxels: try FrozenVoxels(values)
        )
    }

    @Test(
        "vertices are foretold exactly, and triangles and bytes not too low",
        arguments: [0.1, 0.5, 0.9],
        [(9, 8, 7), (70, 5, 4), (64, 3, 3), (63, 3, 2), (62, 2, 3), (1, 1, 5), (130, 1, 1)]
    )
    func counts(empty: Double, size: (Int, Int, Int)) throws {
        let shape = VolumeShape(x: size.0, y: size.1, z: size.2)
        for seed in UInt64(0)..<3 {
            let labels = try random(shape, labels: 3, empty: empty, seed: seed)
            let forecast = try SurfaceForecast(of: labels, scope: .serial())
            for value in UInt16(0)...4 {
                let mesh = try SurfaceExtractor.surface(of: value, in: labels, scope: .serial())
                #expect(forecast.vertexCount(of: value) == mesh.vertices.count)
                let bytes = 16 * (mesh.vertices.count + mesh.triangles.count)
                #expect(mesh.isEmpty || forecast.workingBytes(of: value) >= bytes)
                #expect(mesh.isEmpty || MeshFacts(of: mesh).isClosedManifold)
                #expect(mesh.isEmpty == (forecast.workingBytes(of: value) == 0))
            }
        }
    }

    @Test("the forecast is the same for 1, 2 and 5 threads")
    func widths() async throws {
        let labels = try random(VolumeShape(x: 30, y: 31, z: 12), labels: 4, empty: 0.6, seed: 8)
        let results = try await resultsForWidths { scope in
            let forecast = try SurfaceForecast(of: labels, scope: scope)
            return (UInt16(0)...5).map { forecast.workingBytes(of: $0) }
        }
        #expect(results[0] == results[1])
        #expect(results[0] == results[2])
    }

    @Test("batches hold what fits, keep the order and leave nothing out")
    func batches() throws {
        let labels = try random(VolumeShape(x: 20, y: 20, z: 20), labels: 5, empty: 0.3, seed: 4)
        let forecast = try SurfaceForecast(of: labels, scope: .serial())
        let values: [UInt16] = [5, 9, 1, 4, 2, 3]
        let present: [UInt16] = [5, 1, 4, 2, 3]
        let one = present.map { forecast.workingBytes(of: $0) }.max() ?? 0
        #expect(forecast.batches(of: values, within: 0) == present.map { [$0] })
        #expect(forecast.batches(of: values, within: one * 5) == [present])
        let some = forecast.batches(of: values, within: one * 2)
        #expect(some.flatMap { $0 } == present)
        #expect(some.count == 3)
        #expect(some.allSatisfy { $0.reduce(0) { $0 + forecast.workingBytes(of: $1) } <= one * 2 })
    }

    @Test("surfaces made one by one and together are those made alone", arguments: [0, Int.max])
    func bounded(bytes: Int) async throws {
        let labels = try random(VolumeShape(x: 20, y: 18, z: 16), labels: 3, empty: 0.5, seed: 6)
        let pool = try ComputePool(width: 3)
        defer { pool.shutdown() }
        let made = try await pool.run { () throws -> [(UInt16, SurfaceMesh)] in
            var made: [(UInt16, SurfaceMesh)] = []
            let scope = ComputeScope(pool: pool, flag: CancellationFlag())
            let forecast = try SurfaceForecast(of: labels, scope: scope)
            try forecast.forEachSurface(of: [3, 7, 1], in: labels, within: bytes, scope: scope) {
                made.append(($0, $1))
            }
            return made
        }
        #expect(made.map(\.0) == [3, 1])
        for (value, mesh) in made {
            let alone = try SurfaceExtractor.surface(of: value, in: labels, scope: .serial())
            #expect(mesh.vertices == alone.vertices)
            #expect(mesh.triangles == alone.triangles)
        }
    }

    @Test("an error of the body and a raised flag stop the making")
    func stopped() throws {
        struct Full: Error {}
        let labels = try random(VolumeShape(x: 5, y: 5, z: 5), labels: 2, empty: 0.5, seed: 1)
        let forecast = try SurfaceForecast(of: labels, scope: .serial())
        #expect(throws: Full.self) {
            try forecast.forEachSurface(of: [1, 2], in: labels, within: 0, scope: .serial()) { _, _ in
                throw Full()
            }
        }
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) {
            try forecast.forEachSurface(of: [1], in: labels, within: 0, scope: .serial(flag)) { _, _ in }
        }
    }
}
