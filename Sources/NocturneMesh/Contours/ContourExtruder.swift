public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Builds closed surfaces from stacks of closed contours.
public enum ContourExtruder {
    /// A surface, and the contours that were not used.
    public struct Result: Sendable {
        /// RAS+ mm. The slab of each plane is closed separately; where slabs meet, their caps coincide.
        public var mesh: SurfaceMesh
        /// Contours that are not planar, not parallel to the others, or in a plane with more than
        /// ``maximumCornerCount`` corners or 4,096 separate outlines.
        public var omitted: Int
        /// Planes whose contours cross themselves, so that the area of their caps differs from that of the even-odd
        /// rule.
        public var selfIntersectingPlanes: Int
        /// In mm³: areas by the even-odd rule times thicknesses; overlapping parts of crossed planes count as they are
        /// capped.
        public var volume: Double

        public init(
            mesh: SurfaceMesh = SurfaceMesh(),
            omitted: Int = 0,
            selfIntersectingPlanes: Int = 0,
            volume: Double = 0
        ) {
            self.mesh = mesh
            self.omitted = omitted
            self.selfIntersectingPlanes = selfIntersectingPlanes
            self.volume = volume
        }
    }

    /// Extrudes every contour by half the distance to the neighbouring plane on both sides.
    ///
    /// Contours of one plane are combined by the even-odd rule: a contour inside another is a hole, and channels of
    /// zero width are closed. A gap wider than one and a half usual steps stays open: on that side the slab gets half a
    /// usual step. Every edge of a slab is shared by two triangles in opposite directions; where contours cross, by
    /// more, with equal numbers in both directions. Planes may be oblique.
    /// - Parameters:
    ///   - contours: closed polygons, RAS+ mm.
    ///   - thickness: in mm, for contours that all lie in one plane.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised; it is checked for every plane and every few
    ///   thousand corners.
    /// - Complexity: quadratic in the corners of a plane where they are many and the contour is not convex; planes are
    ///   processed in parallel.
    public static func surface(
        of contours: [[SIMD3<Double>]],
        thickness: Double = 1,
        scope: ComputeScope
    ) throws(CancelledError) -> Result {
        guard let planes = ContourPlanes(of: contours) else { return Result(omitted: contours.count) }
        let usual = planes.step ?? thickness
        var slabs = [Slab?](repeating: nil, count: planes.planes.count)
        try slabs.withParallelBuffer { target throws(CancelledError) in
            try scope.forEach(planes.planes.count) { index in
                target[index] = slab(index, of: planes, contours, usual: usual, flag: scope.flag)
            }
        }
        var result = Result(omitted: planes.others.count)
        for slab in slabs {
            guard let slab else { continue }
            result.omitted += slab.omitted
            let first = UInt32(result.mesh.vertices.count)
            result.mesh.vertices += slab.vertices.map { SIMD3<Float>(planes.point(at: $0)) }
            result.mesh.triangles += slab.triangles.map { $0 &+ SIMD3(repeating: first) }
            result.volume += slab.volume
            if slab.isCrossed { result.selfIntersectingPlanes += 1 }
        }
        return result
    }

    /// Maximum number of corners of a plane: the time for the caps is quadratic in it.
    public static let maximumCornerCount = 1 << 16

    /// In the coordinates of the planes.
    private struct Slab: Sendable {
        var vertices: [SIMD3<Double>] = []
        var triangles: [SIMD3<UInt32>] = []
        var volume = 0.0
        var isCrossed = false
        var omitted = 0
    }

    private static func slab(
        _ index: Int,
        of planes: ContourPlanes,
        _ contours: [[SIMD3<Double>]],
        usual: Double,
        flag: CancellationFlag
    ) -> Slab {
        let plane = planes.planes[index]
        func half(to neighbour: Int) -> Double {
            guard planes.planes.indices.contains(neighbour) else { return usual / 2 }
            let distance = abs(planes.planes[neighbour].height - plane.height)
            return distance <= 1.5 * usual ? distance / 2 : usual / 2
        }
        let bottom = plane.height - half(to: index - 1)
        let top = plane.height + half(to: index + 1)
        let flat = plane.contours.map { contour in
            contours[contour].map { point in
                let place = planes.coordinates(of: point)
                return SIMD2(place.x, place.y)
            }
        }
        var slab = Slab()
        slab.omitted = plane.contours.count
        guard flat.reduce(0, { $0 + $1.count }) <= maximumCornerCount else { return slab }
        let loops = LoopSet(of: flat, flag: flag)
        guard !loops.isTooMany else { return slab }
        slab.omitted = 0
        let cap = PolygonCap.triangulate(loops, flag: flag)
        let count = UInt32(loops.points.count)
        slab.vertices = loops.points.map { SIMD3($0.x, $0.y, bottom) } + loops.points.map { SIMD3($0.x, $0.y, top) }
        for triangle in cap.triangles {
            slab.triangles.append(SIMD3(triangle.x, triangle.z, triangle.y))
            slab.triangles.append(triangle &+ SIMD3(repeating: count))
        }
        for loop in loops.loops {
            var from = loop[loop.count - 1]
            for to in loop {
                let (a, b) = (UInt32(from), UInt32(to))
                slab.triangles.append(SIMD3(a, b, b + count))
                slab.triangles.append(SIMD3(a, b + count, a + count))
                from = to
            }
        }
        slab.volume = cap.area * (top - bottom)
        slab.isCrossed = cap.isCrossed
        return slab
    }
}
