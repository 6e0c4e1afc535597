public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Builds one closed surface around a stack of closed contours.
public enum ContourExtruder {
    /// A surface, and the contours that were not used.
    public struct Result: Sendable {
        /// RAS+ mm. Every edge has two triangles, which run along it in opposite directions; no walls remain inside.
        public internal(set) var mesh = SurfaceMesh()
        /// Contours that are not planar, not parallel to the others, or in a plane with more than
        /// ``maximumCornerCount`` corners or 4,096 separate outlines.
        public internal(set) var omitted: Int
        /// Planes whose contours cross themselves.
        public internal(set) var selfIntersectingPlanes = 0
        /// In mm³: areas by the even-odd rule times thicknesses; overlapping parts of crossed planes count several times.
        public internal(set) var volume = 0.0
    }

    /// Fills every contour up to half the distance to the neighbouring plane on both sides, and surrounds the whole.
    ///
    /// Contours of one plane are combined by the even-odd rule: a contour inside another is a hole, and channels of
    /// zero width are closed. A gap wider than one and a half usual steps stays open: on that side the slab gets half a
    /// usual step. The slabs become layers of a grid whose pixels are as small as the contours' edges, and the surface is
    /// extracted and smoothed as that of a label map (``SurfaceExtractor``), with the volume of the pixels. Planes may be
    /// oblique.
    ///
    /// Closing each slab alone was rejected: it left walls between neighbours, edges with four triangles, and up to eight
    /// times the area of the surface of a label map.
    /// - Parameters:
    ///   - contours: closed polygons, RAS+ mm.
    ///   - thickness: in mm, for contours that all lie in one plane.
    ///   - tolerance: ``SurfaceOptions/tolerance``.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised; it is checked for every plane and every few
    ///   thousand corners.
    /// - Complexity: quadratic in the corners of a plane where they are many and the contour is not convex; planes are
    ///   processed in parallel.
    public static func surface(
        of contours: [[SIMD3<Double>]],
        thickness: Double = 1,
        tolerance: Double = 0,
        scope: ComputeScope
    ) throws(CancelledError) -> Result {
        guard let planes = ContourPlanes(of: contours) else { return Result(omitted: contours.count) }
        let usual = planes.step ?? thickness
        let slabs = try scope.map(planes.planes.count) { index in
            slab(index, of: planes, contours, usual: usual, flag: scope.flag)
        }
        var result = Result(omitted: planes.others.count)
        var filled: [Layers.Slab] = []
        var largestArea = 0.0
        for slab in slabs {
            result.omitted += slab.omitted
            result.volume += slab.area * (slab.outline.top - slab.outline.bottom)
            largestArea = max(largestArea, slab.area)
            if slab.isCrossed { result.selfIntersectingPlanes += 1 }
            if slab.area > 0 { filled.append(slab.outline) }
        }
        guard let layers = Layers(filled, thickness: usual, largestArea: largestArea) else {
            return result
        }
        let surface = try layers.surface(tolerance: tolerance, scope: scope)
        result.mesh = SurfaceMesh(
            vertices: surface.points.map { SIMD3<Float>(planes.point(at: $0)) },
            triangles: surface.triangles
        )
        return result
    }

    /// Maximum number of corners of a plane: the time for measuring it is quadratic in it.
    public static let maximumCornerCount = 1 << 16

    private struct Slab: Sendable {
        /// In the coordinates of the planes.
        var outline: Layers.Slab
        var area = 0.0
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
        var slab = Slab(outline: Layers.Slab(bottom: bottom, top: top, contours: flat))
        // Counted as omitted until the plane turns out to be within the limits.
        slab.omitted = plane.contours.count
        guard flat.reduce(0, { $0 + $1.count }) <= maximumCornerCount else { return slab }
        let loops = LoopSet(of: flat, flag: flag)
        guard !loops.isTooMany else { return slab }
        slab.omitted = 0
        let cap = loops.measured(flag)
        slab.area = cap.area
        slab.isCrossed = cap.isCrossed
        // Unknown for crossed outlines: triangles count overlaps several times, pixels follow the even-odd rule.
        slab.outline.area = cap.isCrossed ? nil : cap.area
        return slab
    }
}
