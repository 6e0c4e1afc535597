import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneMesh
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Stacks of contours become one closed surface")
struct ExtrusionTests {
    private func square(_ from: Double, _ to: Double, z: Double) -> [SIMD3<Double>] {
        [SIMD3(from, from, z), SIMD3(to, from, z), SIMD3(to, to, z), SIMD3(from, to, z)]
    }

    private func surface(_ contours: [[SIMD3<Double>]], thickness: Double = 1) throws -> ContourExtruder.Result {
        try ContourExtruder.surface(of: contours, thickness: thickness, scope: .serial())
    }

    @Test("a box with a hole, and an island in the hole, by even and odd in any sense of rotation")
    func nested() throws {
        let contours = [0.0, 2, 4].flatMap { z in
            [square(0, 10, z: z), Array(square(2, 8, z: z).reversed()), square(4, 6, z: z)]
        }
        let result = try surface(contours)
        let measures = MeshFacts(of: result.mesh)
        #expect(measures.isClosedManifold)
        #expect(abs(measures.signedVolume / ((100 - 36 + 4) * 6) - 1) < 0.02)
        #expect(abs(result.volume - (100 - 36 + 4) * 6) < 1e-9)
        #expect(result.selfIntersectingPlanes == 0 && result.omitted == 0)
        // A box with a tunnel, which is a torus, and a box.
        #expect(measures.eulerCharacteristic == 2)
    }

    @Test("a channel of no width to a hole leaves no trace")
    func channel() throws {
        let keyhole: [SIMD3<Double>] = [
            SIMD3(0, 0, 1), SIMD3(10, 0, 1), SIMD3(10, 10, 1), SIMD3(0, 10, 1), SIMD3(0, 5, 1), SIMD3(2, 5, 1),
            SIMD3(2, 8, 1), SIMD3(8, 8, 1), SIMD3(8, 2, 1), SIMD3(2, 2, 1), SIMD3(2, 5, 1), SIMD3(0, 5, 1),
        ]
        let result = try surface([keyhole], thickness: 3)
        let measures = MeshFacts(of: result.mesh)
        #expect(measures.isClosedManifold)
        #expect(abs(measures.signedVolume / (64 * 3) - 1) < 0.02)
        #expect(measures.eulerCharacteristic == 0)
    }

    @Test("a missing plane stays open, and the ends are as thick as the rest")
    func gap() throws {
        let result = try surface([0.0, 1, 2, 7, 8].map { square(0, 10, z: $0) })
        let measures = MeshFacts(of: result.mesh)
        #expect(measures.isClosedManifold)
        #expect(abs(measures.signedVolume / 500 - 1) < 0.02)
        #expect(measures.eulerCharacteristic == 2 * 2)
        let heights = result.mesh.vertices.map(\.z).sorted()
        #expect(abs((heights.first ?? 0) + 0.5) < 0.4 && abs((heights.last ?? 0) - 8.5) < 0.4)
        let inGap = heights.filter { $0 > 2.9 && $0 < 6.1 }
        #expect(inGap.isEmpty)
    }

    @Test("random stars on oblique planes enclose the volume of their polygons")
    func oblique() throws {
        var random = SplitMix64(seed: 17)
        func number() -> Double { Double(random.next() >> 11) / 0x1p53 }
        let u = SIMD3(0.8, 0.48, 0.36)
        let v = SIMD3(-0.6, 0.64, 0.48)
        let n = cross(u, v)
        var contours: [[SIMD3<Double>]] = []
        var volume = 0.0
        for plane in 0..<12 {
            let count = Int(5 + random.next() % 60)
            // Around the border of a square, in and out: star-shaped, so simple.
            let corners = (0..<count).map { step -> SIMD2<Double> in
                let t = Double(step) / Double(count) * 4
                let s = t - t.rounded(.down) - 0.5
                let border = [SIMD2(s, -0.5), SIMD2(0.5, s), SIMD2(-s, 0.5), SIMD2(-0.5, -s)][Int(t)]
                return border * (5 + 40 * number())
            }
            let doubled = zip(corners, corners.dropFirst() + [corners[0]]).reduce(0) {
                $0 + $1.0.x * $1.1.y - $1.1.x * $1.0.y
            }
            volume += doubled / 2 * 2.5
            contours.append(corners.map { SIMD3(7, -9, 11) + u * $0.x + v * $0.y + n * (2.5 * Double(plane)) })
        }
        let result = try surface(contours)
        let measures = MeshFacts(of: result.mesh)
        #expect(measures.isClosedManifold)
        #expect(result.omitted == 0)
        #expect(result.selfIntersectingPlanes == 0)
        #expect(abs(measures.signedVolume / volume - 1) < 0.02)
        #expect(abs(result.volume / volume - 1) < 1e-9)
    }

    @Test("contours that cross themselves, touch, repeat or have no area still close", arguments: 0..<20)
    func disorder(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let contours = (0..<6).map { _ in
            (0..<Int(3 + random.next() % 12)).map { _ in
                SIMD3(Double(random.next() % 9), Double(random.next() % 9), 0)
            }
        }
        let result = try surface(contours + [contours[0], [SIMD3(1, 1, 0), SIMD3(1, 1, 0), SIMD3(1, 1, 0)]])
        #expect(MeshFacts(of: result.mesh).isClosedManifold)
        let moved = try surface((contours + [contours[0]]).map { $0.map { $0 + SIMD3(500, -300, 20) } })
        let (one, other) = (MeshFacts(of: result.mesh).signedVolume, MeshFacts(of: moved.mesh).signedVolume)
        #expect(one > 0 && abs(one - other) < 0.1 * one)
    }

    @Test("bent and differently directed contours are left out and counted")
    func omitted() throws {
        let bent: [SIMD3<Double>] = [SIMD3(0, 0, 0), SIMD3(1, 0, 0), SIMD3(1, 1, 0.5), SIMD3(0, 1, 0)]
        let upright: [SIMD3<Double>] = [SIMD3(0, 0, 0), SIMD3(1, 0, 0), SIMD3(1, 0, 1)]
        let result = try surface([square(0, 10, z: 0), bent, upright, []])
        #expect(result.omitted == 3)
        #expect(abs(MeshFacts(of: result.mesh).signedVolume - 100) < 2)
        #expect(try surface([]).mesh.isEmpty)
    }

    /// Circles around the axis at these heights, of 72 corners.
    private func circles(_ heights: [Double], radius: (Double) -> Double) -> [[SIMD3<Double>]] {
        heights.map { z in
            (0..<72).map { step in
                let angle = Double(step) / 72 * 2 * Double.pi
                return SIMD3(radius(z) * cos(angle), radius(z) * sin(angle), z)
            }
        }
    }

    @Test("neighbouring slabs leave no walls between them")
    func noWalls() throws {
        let measures = MeshFacts(of: try surface(circles((0..<20).map { 2 * Double($0) }) { _ in 10 }).mesh)
        #expect(measures.isClosedManifold && measures.eulerCharacteristic == 2)
        let area = 2 * Double.pi * 10 * (10 + 40)
        #expect(abs(measures.area / area - 1) < 0.03)
        #expect(abs(measures.signedVolume / (Double.pi * 100 * 40) - 1) < 0.01)
    }

    @Test("area and volume are those of the surface of the same label map", arguments: [1.0, 3.27])
    func againstVoxels(step: Double) throws {
        // A ball of 18 mm.
        let count = Int(36 / step)
        let middle = Double(count - 1) / 2
        let heights = (0..<count).map { (Double($0) - middle) * step }
        func radius(_ z: Double) -> Double { max(18 * 18 - z * z, 1).squareRoot() }
        let made = MeshFacts(of: try surface(circles(heights, radius: radius)).mesh)
        let shape = VolumeShape(x: 40, y: 40, z: count)
        let voxels = (0..<shape.count).map { index -> UInt16 in
            let (i, j) = (Double(index % 40) - 19.5, Double(index / 40 % 40) - 19.5)
            let r = radius(heights[index / 1600])
            return i * i + j * j < r * r ? 1 : 0
        }
        let labels = LabelVolume(
            geometry: VolumeGeometry(shape: shape, affine: .scaling(SIMD3(1, 1, step))),
            voxels: try FrozenVoxels(voxels)
        )
        let expected = MeshFacts(of: try SurfaceExtractor.surface(of: 1, in: labels, scope: .serial()))
        #expect(made.isClosedManifold && made.eulerCharacteristic == 2)
        #expect(abs(made.area / expected.area - 1) < 0.04)
        #expect(abs(made.signedVolume / expected.signedVolume - 1) < 0.02)
    }

    @Test("the same triangles for any number of threads")
    func threads() async throws {
        let contours = (0..<30).flatMap { z in [square(0, 10, z: Double(z)), square(2, 3, z: Double(z))] }
        let serial = try surface(contours)
        let results = try await resultsForWidths { scope in
            try ContourExtruder.surface(of: contours, scope: scope)
        }
        for result in results {
            #expect(result.mesh.vertices == serial.mesh.vertices)
            #expect(result.mesh.triangles == serial.mesh.triangles)
        }
    }
}
