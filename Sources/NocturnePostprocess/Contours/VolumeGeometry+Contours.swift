internal import Glibc
public import NocturneCore

extension VolumeGeometry {
    /// A grid derived from contours alone, for cases where the images they were drawn on are not available: its slices are
    /// the planes of the contours, with square pixels and a margin of one pixel.
    ///
    /// Missing planes become slices without contours. Planes at uneven distances get the smallest distance, unless rounding
    /// explains them: see ``steps(between:)``. A single plane is 1 mm thick.
    /// - Parameters:
    ///   - contours: closed polygons in RAS+ mm.
    ///   - pixel: in mm; increased where the grid would have more than `limit` voxels.
    ///
    /// The affine is to RAS+ mm. Nil when no contour has an area, or the grid would be too large at any pixel.
    public init?(
        around contours: [[SIMD3<Double>]],
        pixel: Double = 1,
        limit: Int = 1 << 28
    ) {
        guard pixel > 0, let planes = ContourPlanes(of: contours), let first = planes.planes.first,
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
        let steps = Self.steps(between: planes.planes.map(\.height))
        // The last plane is hit exactly: the smallest gap, repeated, would miss it by rounding.
        let step = steps > 0 ? (last.height - first.height) / steps : 1
        let size = upper - lower
        guard steps.isFinite, steps < 1e6, size.x.isFinite, size.y.isFinite else { return nil }
        // A grid above the limit gets coarser pixels: 64 steps of 1.5 make them 10¹¹ times as large.
        var edge = pixel
        for _ in 0..<64 {
            let columns = ceil(size.x / edge) + 2
            let rows = ceil(size.y / edge) + 2
            if columns < 1e6, rows < 1e6,
                let shape = VolumeShape(validating: Int(columns), y: Int(rows), z: Int(steps) + 1, limit: limit)
            {
                let corner = SIMD3(lower.x - 0.5 * edge, lower.y - 0.5 * edge, first.height)
                self.init(
                    shape: shape,
                    affine: Affine(
                        columnI: planes.axisU * edge,
                        columnJ: planes.axisV * edge,
                        columnK: planes.normal * step,
                        translation: planes.point(at: corner)
                    )
                )
                return
            }
            edge *= 1.5
        }
        return nil
    }

    /// The number of equal steps from the first height to the last, as a whole number.
    ///
    /// The fewest with which every plane is within 0.15 of a step of another slice, as the positions of a series may be. The
    /// smallest distance alone would divide too finely where positions are rounded: one of 3.19 among 26 of 3.27 mm makes 28
    /// slices of 27 planes, and volumes 3.5 % too small.
    /// - Parameter heights: in increasing order.
    private static func steps(between heights: [Double]) -> Double {
        guard heights.count > 1 else { return 0 }
        let range = heights[heights.count - 1] - heights[0]
        let smallest = zip(heights, heights.dropFirst()).map { $1 - $0 }.min() ?? range
        let most = (range / smallest).rounded()
        guard most.isFinite, most < 1e6 else { return most }
        let fewest = Double(heights.count - 1)
        // More slices than that without a contour are those of few planes far apart.
        for steps in stride(from: fewest, to: min(most, fewest + 1000), by: 1) {
            let places = heights.lazy.map { ($0 - heights[0]) / range * steps }
            let areOnSlices = places.allSatisfy { abs($0 - $0.rounded()) <= 0.15 }
            if areOnSlices, zip(places, places.dropFirst()).allSatisfy({ $0.rounded() < $1.rounded() }) { return steps }
        }
        return most
    }
}
