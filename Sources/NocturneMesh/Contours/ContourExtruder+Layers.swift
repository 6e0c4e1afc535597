internal import Glibc
internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

extension ContourExtruder {
    /// The slabs of a stack of contours as layers of a grid, in the coordinates of their planes.
    ///
    /// A layer without contours stands for every gap, so that the slabs on both sides of it do not touch.
    struct Layers {
        /// The closed polygons of a plane and the slab that they fill.
        struct Slab: Sendable {
            var bottom: Double
            var top: Double
            var contours: [[SIMD2<Double>]]
            /// By the even-odd rule; nil where the contours cross each other.
            var area: Double?
        }

        private let contours: [[[SIMD2<Double>]]]
        /// The heights at which layers begin and end.
        private let boundaries: [Double]
        /// The sum of all areas; nil where one is not known.
        private let area: Double?
        private let lower: SIMD2<Double>
        private let size: SIMD3<Int>
        private let pixel: Double
        private let thickness: Double

        /// Limits of the grid. A surface of half a million points needs about 75 MB while it is smoothed.
        private enum Limit {
            static let voxels = 0x1p26
            static let points = 0x1p19
            /// Pixels along the edge of a square with the area of the largest plane.
            static let edge = 64.0
            static let leastEdge = 16.0
            /// The thickness of a layer in pixels.
            static let flatness = 3.0
        }

        /// Nil without any area.
        /// - Parameter thickness: of a usual slab.
        init?(_ slabs: [Slab], thickness: Double, largestArea: Double) {
            let areas = slabs.compactMap(\.area)
            area = areas.count == slabs.count ? areas.reduce(0, +) : nil
            var (contours, boundaries): ([[[SIMD2<Double>]]], [Double]) = ([], [])
            for slab in slabs {
                if let end = boundaries.last, slab.bottom > end + 1e-6 * thickness {
                    contours.append([])
                    boundaries.append(slab.bottom)
                }
                if boundaries.isEmpty { boundaries.append(slab.bottom) }
                contours.append(slab.contours)
                boundaries.append(slab.top)
            }
            var (lower, upper) = (SIMD2(repeating: Double.infinity), SIMD2(repeating: -Double.infinity))
            var (perimeter, points) = (0.0, 0)
            for contour in contours.joined() {
                points += contour.count
                for (index, point) in contour.enumerated() {
                    (lower, upper) = (pointwiseMin(lower, point), pointwiseMax(upper, point))
                    perimeter += length(point - contour[index == 0 ? contour.count - 1 : index - 1])
                }
            }
            guard points > 0, perimeter > 0, largestArea > 0, thickness > 0, perimeter.isFinite else { return nil }
            let extent = upper - lower
            // As fine as the contours are, but fine enough for polygons with few corners; not much finer than the slabs are
            // thick, because smoothing would not reach from one slab to the next.
            let edge = largestArea.squareRoot()
            var pixel = min(perimeter / Double(points), edge / Limit.edge)
            pixel = max(pixel, min(thickness / Limit.flatness, edge / Limit.leastEdge))
            pixel = max(pixel, 1.3 * perimeter / Limit.points)
            let voxels = (extent.x / pixel + 1) * (extent.y / pixel + 1) * Double(contours.count)
            if voxels > Limit.voxels { pixel *= (voxels / Limit.voxels).squareRoot() }
            let columns = (extent / pixel).rounded(.up)
            guard pixel > 0, columns.x < 1e6, columns.y < 1e6 else { return nil }
            self.contours = contours
            self.boundaries = boundaries
            self.pixel = pixel
            self.thickness = thickness
            size = SIMD3(max(1, Int(columns.x)), max(1, Int(columns.y)), contours.count)
            // The margin left over by whole pixels is the same on both sides.
            self.lower = lower - (columns * pixel - extent) / 2
        }

        /// The surface around the layers, in the coordinates of the planes.
        func surface(
            tolerance: Double,
            scope: ComputeScope
        ) throws(CancelledError) -> (points: [SIMD3<Double>], triangles: [SIMD3<UInt32>]) {
            guard let shape = VolumeShape(validating: size.x, y: size.y, z: size.z) else { return ([], []) }
            let spacing = SIMD3(pixel, pixel, thickness)
            let bits = try LabelBits(box: VoxelBox(all: shape), scope: scope) { layer, firstRow, wordsPerRow in
                fill(layer, firstRow, wordsPerRow)
            }
            let raw = try SurfaceExtractor.smoothed(
                bits,
                VolumeGeometry(shape: shape, affine: .scaling(spacing)),
                voxelVolume: voxelVolume(bits),
                options: SurfaceOptions(tolerance: tolerance),
                scope: scope
            )
            let origin = SIMD3<Double>(raw.origin)
            let points = raw.points.map { point in
                let place = origin + point / spacing
                return SIMD3(lower.x + (place.x + 0.5) * pixel, lower.y + (place.y + 0.5) * pixel, height(place.z))
            }
            return (points, raw.triangles)
        }

        /// The volume of a voxel by which the voxels have the volume of the contours.
        private func voxelVolume(_ bits: LabelBits) -> Double {
            let own = pixel * pixel * thickness
            let count = bits.words.reduce(0) { $0 + $1.nonzeroBitCount }
            guard let area, count > 0 else { return own }
            let exact = area * thickness / Double(count)
            // A contour with hardly a pixel is known by its middle alone.
            return (0.5...2).contains(exact / own) ? exact : own
        }

        /// The height at a place between layers, whose middles are whole numbers.
        private func height(_ place: Double) -> Double {
            let layer = min(max(Int((place + 0.5).rounded(.down)), 0), size.z - 1)
            let (bottom, top) = (boundaries[layer], boundaries[layer + 1])
            let share = place + 0.5 - Double(layer)
            guard contours[layer].isEmpty else { return bottom + share * (top - bottom) }
            // A surface that smoothing moves into a gap is not moved further in a wider one.
            let reach = min(thickness, top - bottom)
            return share < 0.5 ? bottom + share * reach : top - (1 - share) * reach
        }

        /// Sets the pixels whose middles are inside the contours, by the even-odd rule.
        private func fill(_ layer: Int, _ firstRow: UnsafeMutablePointer<UInt64>, _ wordsPerRow: Int) {
            var crossings = [[Double]](repeating: [], count: size.y)
            for contour in contours[layer] {
                guard var from = contour.last else { continue }
                for to in contour {
                    let (below, above) = from.y < to.y ? (from, to) : (to, from)
                    // Rows whose middles are at or above the lower end and below the upper one.
                    let first = max(Int(((below.y - lower.y) / pixel - 0.5).rounded(.up)), 0)
                    let end = min(Int(((above.y - lower.y) / pixel - 0.5).rounded(.up)), size.y)
                    for row in first..<max(first, end) {
                        let y = lower.y + (Double(row) + 0.5) * pixel
                        let share = (y - below.y) / (above.y - below.y)
                        crossings[row].append(below.x + share * (above.x - below.x))
                    }
                    from = to
                }
            }
            for row in 0..<size.y {
                let places = crossings[row].sorted().map { Int((($0 - lower.x) / pixel - 0.5).rounded(.up)) }
                let words = firstRow + row * wordsPerRow
                for pair in stride(from: 0, to: places.count - 1, by: 2) {
                    for column in max(places[pair], 0)..<max(places[pair], 0, min(places[pair + 1], size.x)) {
                        words[(column + 1) / 64] |= 1 << UInt64((column + 1) % 64)
                    }
                }
            }
        }
    }
}
