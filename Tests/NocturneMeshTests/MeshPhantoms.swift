import NocturneConcurrency
import NocturneCore
import NocturneMesh
import NocturneSystem
import NocturneTestSupport

/// Label maps made from their shape in millimetres.
enum MeshPhantom {
    /// Label 1 where `inside` says so of the voxel's centre in mm; the grid holds the cube |x|, |y|, |z| ≤ `reach`.
    ///
    /// - Parameters:
    ///   - directions: the grid's unit steps, as columns; need not be orthogonal or right-handed.
    static func labels(
        reach: Double,
        spacing: SIMD3<Double> = SIMD3(1, 1, 1),
        turned: Bool = false,
        leftHanded: Bool = false,
        centre: SIMD3<Double> = .zero,
        inside: (SIMD3<Double>) -> Bool
    ) throws -> LabelVolume {
        // A rotation by about 40° about a skew axis, from a unit quaternion with short numbers.
        let columns: [SIMD3<Double>] =
            turned
            ? [SIMD3(7, 4, -4) / 9, SIMD3(-4, 8, 1) / 9, SIMD3(4, 1, 8) / 9]
            : [SIMD3(1, 0, 0), SIMD3(0, 1, 0), SIMD3(0, 0, 1)]
        // Turned grids need room for the cube's corners no more than for the ball in it.
        let shape = VolumeShape(
            x: Int(2 * reach / spacing.x) + 1,
            y: Int(2 * reach / spacing.y) + 1,
            z: Int(2 * reach / spacing.z) + 1
        )
        var affine = Affine(
            columnI: columns[0] * spacing.x * (leftHanded ? -1 : 1),
            columnJ: columns[1] * spacing.y,
            columnK: columns[2] * spacing.z,
            translation: .zero
        )
        let middle = affine(SIMD3(Double(shape.x - 1) / 2, Double(shape.y - 1) / 2, Double(shape.z - 1) / 2))
        affine.translation = centre - middle
        let voxels: VoxelBuffer<UInt16> = try Phantom.voxels(shape) { i, j, k in
            inside(affine(SIMD3(Double(i), Double(j), Double(k))) - centre) ? 1 : 0
        }
        return LabelVolume(geometry: VolumeGeometry(shape: shape, affine: affine), voxels: voxels.frozen())
    }

    static func ball(
        _ radius: Double,
        spacing: SIMD3<Double> = SIMD3(1, 1, 1),
        turned: Bool = false,
        leftHanded: Bool = false,
        centre: SIMD3<Double> = .zero
    ) throws -> LabelVolume {
        try labels(
            reach: radius + 2 * spacing.max(),
            spacing: spacing,
            turned: turned,
            leftHanded: leftHanded,
            centre: centre
        ) { dot($0, $0) <= radius * radius }
    }

    /// A small grid of the given voxels.
    static func voxels(
        _ size: Int,
        _ affine: Affine = .identity,
        _ inside: (Int, Int, Int) -> Bool
    ) throws -> LabelVolume {
        let shape = VolumeShape(x: size, y: size, z: size)
        let voxels: VoxelBuffer<UInt16> = try Phantom.voxels(shape) { inside($0, $1, $2) ? 1 : 0 }
        return LabelVolume(geometry: VolumeGeometry(shape: shape, affine: affine), voxels: voxels.frozen())
    }
}

extension LabelVolume {
    /// The voxels of label 1, in mm³.
    var labelledVolume: Double {
        Double(voxels.array().count { $0 == 1 }) * geometry.voxelVolume
    }

    func surface(_ options: SurfaceOptions = SurfaceOptions()) throws -> SurfaceMesh {
        try SurfaceExtractor.surface(of: 1, in: self, options: options, scope: .serial())
    }
}

extension SurfaceMesh {
    /// Whether the triangles about every vertex form one closed fan: stronger than a look at the edges.
    var everyVertexHasOneFan: Bool {
        var next: [[UInt32: UInt32]] = Array(repeating: [:], count: vertices.count)
        for triangle in triangles {
            for corner in 0..<3 {
                next[Int(triangle[corner])][triangle[(corner + 1) % 3]] = triangle[(corner + 2) % 3]
            }
        }
        return next.allSatisfy { ring in
            guard let start = ring.keys.first else { return false }
            var (vertex, steps) = (start, 0)
            repeat {
                guard let following = ring[vertex] else { return false }
                (vertex, steps) = (following, steps + 1)
            } while vertex != start && steps <= ring.count
            return steps == ring.count
        }
    }

    /// Splits the surface into its closed parts.
    var shells: [SurfaceMesh] {
        var parents = Array(vertices.indices)
        func root(_ vertex: Int) -> Int {
            var vertex = vertex
            while parents[vertex] != vertex { vertex = parents[vertex] }
            return vertex
        }
        for triangle in triangles {
            for corner in 1..<3 {
                let (a, b) = (root(Int(triangle[0])), root(Int(triangle[corner])))
                parents[max(a, b)] = min(a, b)
            }
        }
        return Dictionary(grouping: triangles) { root(Int($0.x)) }.sorted { $0.key < $1.key }
            .map { SurfaceMesh(vertices: vertices, triangles: $0.value) }
    }
}
