public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Creates a closed triangle surface of a label.
public enum SurfaceExtractor {
    /// The surface of the voxels with one value, in RAS+ mm, corners counter-clockwise seen from outside.
    ///
    /// Every edge is shared by exactly two triangles in opposite directions, and the surface is closed at the border of
    /// the volume too. Voxels that touch only through an edge or a corner stay separate. Cavities have their own walls,
    /// which face into the cavity. With the standard options each closed shell encloses the volume of its voxels to the
    /// precision of the coordinates. Oblique, sheared, anisotropic and left-handed grids are handled exactly.
    ///
    /// Steps: marching cubes over the label's bounding box (``CubeTable``), the affine, Taubin smoothing, an offset along the
    /// normals that restores the volume, and with a tolerance the reduction of triangles, after which the volume is restored
    /// again. All in double precision; only the result is rounded.
    ///
    /// Time: one fast read of every voxel, then linear in the box and in rounds times vertices. Extra memory: about 150
    /// bytes per vertex, and 22 bytes for each (i, j) of the box. A surface of very thin parts may intersect itself
    /// when its volume is restored.
    /// - Parameters:
    ///   - value: the label. An absent one gives an empty mesh.
    ///   - labels: the label map.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised; it is checked for every slice and every round.
    public static func surface(
        of value: UInt16,
        in labels: LabelVolume,
        options: SurfaceOptions = SurfaceOptions(),
        scope: ComputeScope
    ) throws(CancelledError) -> SurfaceMesh {
        let geometry = labels.geometry
        let surface = try labels.voxels.withParallelReader {
            reader throws(CancelledError) -> RawSurface in
            guard let box = try VoxelBox(around: value, in: reader, shape: geometry.shape, scope: scope) else {
                return RawSurface()
            }
            let bits = try LabelBits(of: value, in: reader, shape: geometry.shape, box: box, scope: scope)
            return try smoothed(bits, geometry, voxelVolume: geometry.voxelVolume, options: options, scope: scope)
        }
        guard !surface.points.isEmpty else { return SurfaceMesh() }
        let origin = geometry.affine(SIMD3<Double>(surface.origin))
        let vertices = try rounded(surface.points, plus: origin, scope)
        return SurfaceMesh(vertices: vertices, triangles: surface.triangles)
    }

    /// The smoothed surface of the set bits. Its points are relative to the box's corner: near 0, so that volumes lose no
    /// precision.
    /// - Parameter voxelVolume: in mm³, to which the volume is restored; that of the geometry, unless the voxels stand for
    ///   shapes whose volume is known.
    static func smoothed(
        _ bits: LabelBits,
        _ geometry: VolumeGeometry,
        voxelVolume: Double,
        options: SurfaceOptions,
        scope: ComputeScope
    ) throws(CancelledError) -> RawSurface {
        var surface = try RawSurface(bits, affine: geometry.affine, scope: scope)
        guard !surface.points.isEmpty else { return surface }
        let shells =
            options.restoresVolume || options.tolerance > 0
            ? ComponentVolumes(
                surface.triangles,
                doubledVolumes: surface.doubledVolumes,
                voxelVolume: voxelVolume
            )
            : nil
        let restored = options.restoresVolume ? shells : nil
        try smooth(&surface.points, surface.triangles, restored, options.rounds(for: geometry.spacing), scope)
        guard options.tolerance > 0, let shells else { return surface }
        let points = surface.points
        let limits = shells.limits(options.tolerance, points, surface.triangles)
        let kept = try Reducer.reduce(points, &surface.triangles, limits: limits, scope: scope)
        surface.points = kept.map { points[Int($0)] }
        try restored?.keeping(kept).restore(&surface.points, surface.triangles, scope: scope)
        return surface
    }

    private static func rounded(
        _ points: [SIMD3<Double>],
        plus origin: SIMD3<Double>,
        _ scope: ComputeScope
    ) throws(CancelledError) -> [SIMD3<Float>] {
        var vertices: [SIMD3<Float>] = uninitialized(points.count)
        try vertices.withParallelBuffer { target throws(CancelledError) in
            try scope.forEachRange(of: points.count, by: 1 << 16) { range in
                for index in range { target[index] = SIMD3<Float>(points[index] + origin) }
            }
        }
        return vertices
    }

    private static func smooth(
        _ points: inout [SIMD3<Double>],
        _ triangles: [SIMD3<UInt32>],
        _ shells: ComponentVolumes?,
        _ rounds: Int,
        _ scope: ComputeScope
    ) throws(CancelledError) {
        var roundsLeft = rounds
        if roundsLeft > 0 {
            let neighbours = VertexNeighbours(vertexCount: points.count, triangles: triangles)
            try scope.check()
            // In portions with the volume restored after each, so that a tube one voxel wide never shrinks to almost
            // nothing.
            let portion = 20
            while roundsLeft > 0 {
                try neighbours.smooth(&points, rounds: min(portion, roundsLeft), scope: scope)
                roundsLeft -= portion
                if roundsLeft > 0 { try shells?.restore(&points, triangles, scope: scope) }
            }
        }
        try shells?.restore(&points, triangles, scope: scope)
    }
}

/// Options for extracting a surface from voxels.
public struct SurfaceOptions: Hashable, Sendable {
    /// Rounds of Taubin smoothing on a grid with equal spacings, each with one shrinking and one expanding step. 0
    /// disables smoothing.
    ///
    /// Thick slices make larger steps, so the number of rounds is multiplied by the ratio of the largest to the
    /// smallest spacing, by at most three.
    public var smoothingRounds: Int
    /// Whether every closed shell is corrected to exactly the volume of its voxels.
    public var restoresVolume: Bool
    /// How far vertices of the full surface may be from the one that is reduced to fewer triangles, in mm; 0 keeps all triangles.
    /// Points between them may be further away. The volume is restored afterwards, which moves the vertices a little.
    public var tolerance: Double

    /// By default 20 rounds, after which every shell has the volume of its voxels.
    public init(
        smoothingRounds: Int = 20,
        restoresVolume: Bool = true,
        tolerance: Double = 0
    ) {
        self.smoothingRounds = smoothingRounds
        self.restoresVolume = restoresVolume
        self.tolerance = tolerance
    }

    /// The rounds for a grid with these distances between neighbours.
    func rounds(for spacing: SIMD3<Double>) -> Int {
        let ratio = spacing.max() / spacing.min()
        guard smoothingRounds > 0 else { return 0 }
        return Int((Double(smoothingRounds) * (ratio.isFinite ? min(max(ratio, 1), 3) : 1)).rounded())
    }
}
