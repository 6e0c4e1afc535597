import NocturneCore
import NocturneMesh
import NocturneTestSupport
import Testing

@Suite("Mesh measures")
struct MeasureTests {
    private let tetrahedron = SurfaceMesh(
        vertices: [SIMD3(100, 0, 0), SIMD3(103, 0, 0), SIMD3(100, 3, 0), SIMD3(100, 0, 3)],
        triangles: [SIMD3(0, 2, 1), SIMD3(0, 1, 3), SIMD3(0, 3, 2), SIMD3(1, 2, 3)]
    )

    @Test("a tetrahedron has the volume and area of the formulas")
    func tetrahedronMeasures() {
        let measures = MeshFacts(of: tetrahedron)
        #expect(isClose(measures.signedVolume, 4.5, relative: 1e-12))
        #expect(isClose(measures.area, 13.5 + 9 * 3.0.squareRoot() / 2, relative: 1e-12))
        #expect((measures.vertexCount, measures.edgeCount, measures.triangleCount) == (4, 6, 4))
        #expect(measures.eulerCharacteristic == 2)
        #expect(measures.isClosedManifold)
    }

    @Test("turned inside out the volume is negative and the surface still closed")
    func insideOut() {
        var mesh = tetrahedron
        mesh.triangles = mesh.triangles.map { SIMD3($0.x, $0.z, $0.y) }
        #expect(isClose(MeshFacts(of: mesh).signedVolume, -4.5, relative: 1e-12))
        #expect(MeshFacts(of: mesh).isClosedManifold)
    }

    @Test("a missing, a doubled, a turned, a degenerate and a dangling triangle are noticed")
    func broken() {
        var missing = tetrahedron
        missing.triangles.removeLast()
        var doubled = tetrahedron
        doubled.triangles.append(doubled.triangles[0])
        var turned = tetrahedron
        turned.triangles[0] = SIMD3(0, 1, 2)
        var degenerate = tetrahedron
        degenerate.triangles.append(SIMD3(1, 1, 2))
        var dangling = tetrahedron
        dangling.triangles.append(SIMD3(1, 2, 9))
        for mesh in [missing, doubled, turned, degenerate, dangling] {
            #expect(!MeshFacts(of: mesh).isClosedManifold)
        }
        #expect(MeshFacts(of: missing).edgeCount == 6)
        #expect(isClose(MeshFacts(of: dangling).signedVolume, 4.5, relative: 1e-12))
    }

    @Test("vertices without triangles do not count")
    func unused() {
        var mesh = tetrahedron
        mesh.vertices.append(SIMD3(1, 2, 3))
        #expect(MeshFacts(of: mesh) == MeshFacts(of: tetrahedron))
    }

    @Test("nothing is not a closed surface")
    func empty() {
        let measures = MeshFacts(of: SurfaceMesh())
        #expect(!measures.isClosedManifold)
        #expect(measures.area == 0)
        #expect(measures.eulerCharacteristic == 0)
    }
}
