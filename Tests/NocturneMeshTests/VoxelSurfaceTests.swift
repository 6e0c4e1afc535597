import NocturneCore
import NocturneMesh
import NocturneTestSupport
import Testing

@Suite("Measures of the surface around voxels")
struct VoxelSurfaceTests {
    private func measures(_ shape: VolumeShape, _ spacing: SIMD3<Double>, _ outside: [Int] = []) -> VoxelSurfaceMeasures
    {
        var mask = [UInt8](repeating: 1, count: shape.count)
        for place in outside { mask[place] = 0 }
        return VoxelSurfaceMeasures(of: mask, shape: shape, spacing: spacing)
    }

    @Test("a voxel is an octahedron between the middles of its steps")
    func octahedron() {
        let found = measures(VolumeShape(x: 1, y: 1, z: 1), SIMD3(1, 1, 1))
        #expect(isClose(found.volume, 1.0 / 6, relative: 1e-12))
        #expect(isClose(found.area, 3.0.squareRoot(), relative: 1e-12))
    }

    @Test("boxes, dents and cavities have the measures of scikit-image's surfaces")
    func references() {
        // By scikit-image 0.25, `marching_cubes(…, 0.5, method="lewiner")` and `mesh_surface_area`.
        let shape = VolumeShape(x: 5, y: 4, z: 4)
        let spacing = SIMD3(2.0, 2, 2)
        let cases: [(outside: [Int], volume: Double, area: Double)] = [
            ([], 593.3333333, 384.0652882), ([shape.offset(2, 2, 2)], 592, 390.9934915),
            ([shape.offset(0, 2, 1)], 588, 389.9216947),
            ([2, 3].flatMap { k in [3, 4].map { shape.offset($0, 0, k) } }, 563, 375.2860202),
        ]
        for one in cases {
            let found = measures(shape, spacing, one.outside)
            #expect(isClose(found.volume, one.volume, relative: 1e-8))
            #expect(isClose(found.area, one.area, relative: 1e-8))
        }
    }

    @Test("the area of a box in thick slices is that of its faces less its edges and corners")
    func thickSlices() {
        let found = measures(VolumeShape(x: 3, y: 3, z: 3), SIMD3(1, 1, 4))
        let smooth = SurfaceMeshBox.measures(SIMD3(1, 1, 4))
        #expect(isClose(found.area, smooth.area, relative: 1e-12))
        #expect(isClose(found.volume, smooth.volume, relative: 1e-12))
    }

    @Test("diagonal voxels are joined")
    func diagonal() {
        let apart = 2 * measures(VolumeShape(x: 1, y: 1, z: 1), SIMD3(1, 1, 1)).volume
        #expect(measures(VolumeShape(x: 2, y: 2, z: 1), SIMD3(1, 1, 1), [1, 2]).volume > apart)
    }

    @Test("nothing has no surface")
    func empty() {
        let found = measures(VolumeShape(x: 1, y: 1, z: 1), SIMD3(1, 1, 1), [0])
        #expect(found.volume == 0 && found.area == 0)
    }
}

/// A box of 3 × 3 × 3 voxels: six faces, twelve edges cut at half steps, eight corners.
private enum SurfaceMeshBox {
    static func measures(_ step: SIMD3<Double>) -> (volume: Double, area: Double) {
        let half = step / 2
        let inner = 2 * step
        let faces = 2 * (inner.x * inner.y + inner.y * inner.z + inner.x * inner.z)
        let slants = SIMD3(
            length(SIMD3(0, half.y, half.z)),
            length(SIMD3(half.x, 0, half.z)),
            length(SIMD3(half.x, half.y, 0))
        )
        let edges = 4 * (inner * slants).sum()
        let corner = length(cross(SIMD3(-half.x, half.y, 0), SIMD3(-half.x, 0, half.z))) / 2
        let prisms = half.x * half.y * inner.z + half.y * half.z * inner.x + half.x * half.z * inner.y
        let slabs = 2 * (half.x * inner.y * inner.z + half.y * inner.x * inner.z + half.z * inner.x * inner.y)
        let volume = inner.x * inner.y * inner.z + slabs + 4 * prisms / 2 + 8 * half.x * half.y * half.z / 6
        return (volume, faces + edges + 8 * corner)
    }
}
