import NocturneConcurrency
import NocturneCore
import NocturneMesh
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Surfaces are closed manifolds")
struct TopologyTests {
    private let raw = SurfaceOptions(smoothingRounds: 0, restoresVolume: false)

    private func expectClosed(_ labels: LabelVolume, _ note: String, sourceLocation: SourceLocation = #_sourceLocation)
        throws
    {
        for options in [raw, SurfaceOptions()] {
            let mesh = try labels.surface(options)
            #expect(MeshFacts(of: mesh).isClosedManifold, "\(note)", sourceLocation: sourceLocation)
            #expect(mesh.everyVertexHasOneFan, "\(note)", sourceLocation: sourceLocation)
        }
    }

    @Test("every pattern of two by two by two voxels")
    func allCells() throws {
        for pattern in 1..<256 {
            let labels = try MeshPhantom.voxels(2) { i, j, k in pattern >> (i + 2 * j + 4 * k) & 1 == 1 }
            try expectClosed(labels, "pattern \(pattern)")
        }
    }

    @Test("random voxels, where every neighbourhood occurs", arguments: [0.2, 0.5, 0.8])
    func random(density: Double) throws {
        for seed in UInt64(0)..<4 {
            var dice = SplitMix64(seed: seed)
            let labels = try MeshPhantom.voxels(14) { _, _, _ in dice.unit() < density }
            try expectClosed(labels, "seed \(seed)")
            // The raw surface has its vertices half a voxel from the centres, so what is inside has positive volume.
            #expect(MeshFacts(of: try labels.surface(raw)).signedVolume > 0)
        }
    }

    @Test("a single voxel is a closed body of one voxel")
    func singleVoxel() throws {
        let mesh = try MeshPhantom.voxels(3, .scaling(SIMD3(2, 3, 4))) { $0 == 1 && $1 == 1 && $2 == 1 }.surface()
        let measures = MeshFacts(of: mesh)
        #expect(measures.isClosedManifold)
        #expect(measures.eulerCharacteristic == 2)
        #expect(isClose(measures.signedVolume, 24, relative: 1e-5))
    }

    @Test("cubes that touch at an edge or a corner stay apart", arguments: [(2, 2, 0), (0, 2, 2), (2, 2, 2)])
    func touching(shift: (Int, Int, Int)) throws {
        let labels = try MeshPhantom.voxels(6) { i, j, k in
            func isIn(_ a: Int, _ b: Int, _ c: Int) -> Bool {
                (1...2).contains(i - a) && (1...2).contains(j - b) && (1...2).contains(k - c)
            }
            return isIn(0, 0, 0) || isIn(shift.0, shift.1, shift.2)
        }
        try expectClosed(labels, "touching")
        let mesh = try labels.surface()
        #expect(MeshFacts(of: mesh).eulerCharacteristic == 4)
        #expect(mesh.shells.map { isClose(MeshFacts(of: $0).signedVolume, 8, relative: 1e-5) } == [true, true])
    }

    @Test(
        "a label that fills the volume, and one voxel in a one-voxel volume, are closed at the border",
        arguments: [1, 7]
    )
    func border(size: Int) throws {
        let labels = try MeshPhantom.voxels(size) { _, _, _ in true }
        try expectClosed(labels, "full")
        let measures = MeshFacts(of: try labels.surface())
        #expect(measures.eulerCharacteristic == 2)
        #expect(isClose(measures.signedVolume, Double(size * size * size), relative: 1e-5))
    }

    @Test("a ball cut off by the border is closed and keeps its volume")
    func cutBall() throws {
        let labels = try MeshPhantom.voxels(24) { i, j, k in i * i + j * j + (k - 12) * (k - 12) <= 300 }
        try expectClosed(labels, "cut")
        let measures = MeshFacts(of: try labels.surface())
        #expect(measures.eulerCharacteristic == 2)
        #expect(isClose(measures.signedVolume, labels.labelledVolume, relative: 1e-5))
    }

    @Test("a torus has one hole")
    func torus() throws {
        let labels = try MeshPhantom.labels(reach: 24, turned: true) { p in
            let ring = (p.x * p.x + p.y * p.y).squareRoot() - 15
            return ring * ring + p.z * p.z <= 25
        }
        let measures = MeshFacts(of: try labels.surface())
        #expect(measures.isClosedManifold)
        #expect(measures.eulerCharacteristic == 0)
        #expect(isClose(measures.signedVolume, 2 * Double.pi * Double.pi * 15 * 25, relative: 0.01))
        #expect(isClose(measures.area, 4 * Double.pi * Double.pi * 15 * 5, relative: 0.02))
    }

    @Test("a cavity has a wall of its own, and both shells keep their volume")
    func cavity() throws {
        let labels = try MeshPhantom.labels(reach: 18) { p in (49...225).contains(dot(p, p)) }
        let hole = try MeshPhantom.labels(reach: 18) { p in dot(p, p) < 49 }
        let mesh = try labels.surface()
        #expect(MeshFacts(of: mesh).eulerCharacteristic == 4)
        let volumes = mesh.shells.map { MeshFacts(of: $0).signedVolume }
        #expect(volumes.count == 2)
        #expect(isClose(volumes.min() ?? 0, -hole.labelledVolume, relative: 1e-5))
        #expect(isClose(volumes.max() ?? 0, labels.labelledVolume + hole.labelledVolume, relative: 1e-5))
    }

    @Test("an absent label has no surface; others do not disturb")
    func absent() throws {
        let shape = VolumeShape(x: 4, y: 4, z: 4)
        let voxels: VoxelBuffer<UInt16> = try Phantom.voxels(shape) { i, _, _ in i < 2 ? 3 : 4 }
        let labels = LabelVolume(geometry: Phantom.geometry(shape), voxels: voxels.frozen())
        #expect(try labels.surface().isEmpty)
        let half = try SurfaceExtractor.surface(of: 3, in: labels, scope: .serial())
        #expect(isClose(MeshFacts(of: half).signedVolume, 32, relative: 1e-5))
    }
}
