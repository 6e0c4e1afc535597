import NocturneConcurrency
import NocturneCore
import NocturneMesh
import NocturneSystem
import NocturneTestSupport
import Testing

/// Volumes whose isosurfaces are known.
enum IntensityPhantom {
    /// Intensities by position in mm, on the grid of a label phantom: see ``MeshPhantom/labels(reach:spacing:turned:leftHanded:centre:inside:)``.
    static func volume(
        reach: Double,
        spacing: SIMD3<Double> = SIMD3(1, 1, 1),
        turned: Bool = false,
        leftHanded: Bool = false,
        centre: SIMD3<Double> = .zero,
        value: (SIMD3<Double>) -> Double
    ) throws -> Volume {
        let geometry = try MeshPhantom.labels(
            reach: reach,
            spacing: spacing,
            turned: turned,
            leftHanded: leftHanded,
            centre: centre
        ) { _ in false }.geometry
        let voxels: VoxelBuffer<Float> = try Phantom.voxels(geometry.shape) { i, j, k in
            Float(value(geometry.affine(SIMD3(Double(i), Double(j), Double(k))) - centre))
        }
        return Volume(geometry: geometry, voxels: voxels.frozen())
    }

    /// Intensities by voxel.
    static func voxels(
        _ shape: VolumeShape,
        _ affine: Affine = .identity,
        _ value: (Int, Int, Int) -> Float
    ) throws -> Volume {
        Volume(
            geometry: VolumeGeometry(shape: shape, affine: affine),
            voxels: try Phantom.voxels(shape, value).frozen()
        )
    }

    static func voxels(_ size: Int, _ value: (Int, Int, Int) -> Float) throws -> Volume {
        try voxels(VolumeShape(x: size, y: size, z: size), .identity, value)
    }

    static func noise(_ shape: VolumeShape, seed: UInt64) throws -> Volume {
        Volume(geometry: Phantom.geometry(shape), voxels: try Phantom.noise(shape, seed: seed).frozen())
    }
}

extension SurfaceMesh {
    /// The vertices within the centres of the volume's outermost voxels: all but those that close it at the border.
    func points(within geometry: VolumeGeometry) throws -> [SIMD3<Double>] {
        let toIndex = try #require(geometry.affine.inverse)
        let lower = SIMD3<Double>(repeating: -1e-4)
        let upper = SIMD3<Double>(SIMD3(geometry.shape.x, geometry.shape.y, geometry.shape.z)) - 0.9999
        return vertices.map { SIMD3<Double>($0) }.filter { point in
            let index = toIndex(point)
            return all(index .>= lower) && all(index .<= upper)
        }
    }

    /// The corners of the bounding box.
    var bounds: (lower: SIMD3<Float>, upper: SIMD3<Float>) {
        (
            vertices.reduce(SIMD3(repeating: .infinity)) { pointwiseMin($0, $1) },
            vertices.reduce(SIMD3(repeating: -.infinity)) { pointwiseMax($0, $1) }
        )
    }
}

extension Volume {
    func isosurface(_ value: Float, limit: Int = .max) throws -> SurfaceMesh {
        try IsosurfaceExtractor.surface(at: value, in: self, limit: limit, scope: .serial())
    }
}
