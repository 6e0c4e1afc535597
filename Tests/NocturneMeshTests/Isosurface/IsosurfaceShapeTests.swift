import NocturneConcurrency
import NocturneCore
import NocturneMesh
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Isosurfaces lie where the intensity has the value")
struct IsosurfaceShapeTests {
    @Test(
        "a ball of falling intensity has its radius, area and volume, however the grid lies",
        arguments: [SIMD3(1, 1, 1), SIMD3(0.7, 0.7, 1), SIMD3(0.9, 0.8, 2)],
        [false, true]
    )
    func ball(spacing: SIMD3<Double>, turned: Bool) throws {
        for leftHanded in [false, true] {
            let centre = SIMD3<Double>(-120, 45, 700)
            let radius = 24.0
            let volume = try IntensityPhantom.volume(
                reach: radius + 3 * spacing.max(),
                spacing: spacing,
                turned: turned,
                leftHanded: leftHanded,
                centre: centre
            ) { 1000 - 10 * length($0) }
            let mesh = try volume.isosurface(Float(1000 - 10 * radius))
            let measures = MeshFacts(of: mesh)
            #expect(measures.isClosedManifold && measures.eulerCharacteristic == 2)
            #expect(isClose(measures.signedVolume, 4.0 / 3 * Double.pi * radius * radius * radius, relative: 0.005))
            #expect(isClose(measures.area, 4 * Double.pi * radius * radius, relative: 0.005))
            // Between two voxels the distance from the centre bends by at most h² / 8r.
            let error = spacing.max() * spacing.max() / (8 * (radius - spacing.max())) + 1e-3 * spacing.max()
            let radii = mesh.vertices.map { length(SIMD3<Double>($0) - centre) }
            #expect(radii.allSatisfy { abs($0 - radius) <= error })
        }
    }

    @Test("the part of a large ball in the volume has its radius to a thousandth of a voxel")
    func precision() throws {
        let radius = 128.0
        let volume = try IntensityPhantom.voxels(VolumeShape(x: 136, y: 136, z: 40)) { i, j, k in
            Float(500 - length(SIMD3(Double(i), Double(j), Double(k))))
        }
        let mesh = try volume.isosurface(Float(500 - radius))
        let measures = MeshFacts(of: mesh)
        #expect(measures.isClosedManifold && measures.eulerCharacteristic == 2)
        let inner = try mesh.points(within: volume.geometry)
        #expect(inner.count > 10_000)
        #expect(inner.allSatisfy { abs(length($0) - radius) < 1e-3 })
    }

    @Test(
        "a plane through an oblique grid is exact, in patient millimetres",
        arguments: [SIMD3(0.5, 0.5, 0.5), SIMD3(0.4, 0.9, 3)],
        [SIMD3(1.0, 0, 0), SIMD3(0.48, -0.6, 0.64)]
    )
    func plane(spacing: SIMD3<Double>, normal: SIMD3<Double>) throws {
        let volume = try IntensityPhantom.volume(reach: 12, spacing: spacing, turned: true) { 30 * dot($0, normal) - 7 }
        let mesh = try volume.isosurface(23)
        #expect(MeshFacts(of: mesh).isClosedManifold)
        let points = try mesh.points(within: volume.geometry)
        #expect(points.count > 200)
        #expect(points.allSatisfy { abs(dot($0, normal) - 1) < 1e-3 * spacing.max() })
    }

    @Test("triangles look to the side below the value, in left-handed grids too", arguments: [false, true])
    func orientation(leftHanded: Bool) throws {
        let volume = try IntensityPhantom.volume(reach: 9, turned: true, leftHanded: leftHanded) { -length($0) }
        let mesh = try volume.isosurface(-6)
        #expect(
            mesh.triangles.allSatisfy { triangle in
                let (a, b, c) = (
                    SIMD3<Double>(mesh.vertices[Int(triangle.x)]), SIMD3<Double>(mesh.vertices[Int(triangle.y)]),
                    SIMD3<Double>(mesh.vertices[Int(triangle.z)])
                )
                return dot(cross(b - a, c - a), a) > -1e-4
            }
        )
        // A cavity turns them round.
        let cavity = try IntensityPhantom.volume(reach: 9, leftHanded: leftHanded) { length($0) }.isosurface(6)
        let volumes = cavity.shells.map { MeshFacts(of: $0).signedVolume }.sorted()
        #expect(volumes.count == 2 && volumes[0] < 0 && volumes[1] > 0)
        #expect(isClose(volumes[0], -4.0 / 3 * Double.pi * 216, relative: 0.02))
    }

    @Test("the surface at a step between two intensities is where a line between them has the value")
    func step() throws {
        let volume = try IntensityPhantom.voxels(8) { i, _, _ in i < 4 ? 100 : 20 }
        for (value, place) in [(100, 3 + 1.0 / 1024), (80, 3.25), (60, 3.5), (40, 3.75)] as [(Float, Float)] {
            let mesh = try volume.isosurface(value)
            #expect(mesh.vertices.map(\.x).max() == place)
            #expect(mesh.vertices.map(\.x).min() == -0.5)
        }
    }
}
