public import NocturneCore

#if canImport(Glibc)
    internal import Glibc
#endif

/// A grid derived from contours alone, for cases where the images they were drawn on are not available.
public enum ContourGrid {
    /// A grid whose slices are the planes of the contours, with square pixels and a margin of one pixel.
    ///
    /// Missing planes become slices without contours; planes at uneven distances get the smallest distance.
    /// - Parameters:
    ///   - contours: closed polygons in RAS+ mm.
    ///   - pixel: in mm; increased where the grid would have more than `limit` voxels.
    ///   - thickness: in mm, for contours that all lie in one plane.
    /// - Returns: the affine to RAS+ mm; nil when no contour has an area, or the grid would be too large at any pixel.
    public static func geometry(
        around contours: [[SIMD3<Double>]],
        pixel: Double = 1,
        thickness: Double = 1,
        limit: Int = 1 << 28
    ) -> VolumeGeometry? {
        guard pixel > 0, thickness > 0, let planes = ContourPlanes(of: contours), let first = planes.planes.first,
            let last = planes.planes.last
        else { return nil }
        var lower = SIMD2<Double>(repeating: .infinity)
        var upper = SIMD2<Double>(repeating: -.infinity)
        for index in planes.planes.flatMap(\.contours) {
            for point in contours[index] {
                let place = planes.coordinates(of: point)
                lower = pointwiseMin(lower, SIMD2(place.x, place.y))
                upper = pointwiseMax(upper, SIMD2(place.x, place.y))
            }
        }
        let gaps = zip(planes.planes, planes.planes.dropFirst()).map { $1.height - $0.height }
        let smallest = gaps.min() ?? thickness
        let steps = ((last.height - first.height) / smallest).rounded()
        let step = steps > 0 ? (last.height - first.height) / steps : thickness
        let size = upper - lower
        guard steps.isFinite, steps < 1e6, size.x.isFinite, size.y.isFinite else { return nil }
        var edge = pixel
        for _ in 0..<64 {
            let columns = ceil(size.x / edge) + 2
            let rows = ceil(size.y / edge) + 2
            if columns < 1e6, rows < 1e6,
                let shape = VolumeShape(validating: Int(columns), y: Int(rows), z: Int(steps) + 1, limit: limit)
            {
                let corner = SIMD3(lower.x - 0.5 * edge, lower.y - 0.5 * edge, first.height)
                return VolumeGeometry(
                    shape: shape,
                    affine: Affine(
                        columnI: planes.axisU * edge,
                        columnJ: planes.axisV * edge,
                        columnK: planes.normal * step,
                        translation: planes.point(at: corner)
                    )
                )
            }
            edge *= 1.5
        }
        return nil
    }
}
