public import NocturneCore

/// The plane that shows a region, and where the region lies in it.
///
/// Flat regions are seen in their own plane. Lines are seen in the plane of the grid in which their points reach farthest
/// (axial before coronal before sagittal), projected into it; spheres and boxes in the axial plane through their middle.
/// Directions follow the radiological convention: the patient's right side is on the left of the image, the front or the
/// head on top; sagittal images have the front on the left.
public struct RegionView: Sendable {
    /// The middle of the region in the plane, in RAS+ mm.
    public let center: SIMD3<Double>
    /// Perpendicular unit vectors: the directions of rows and of columns of an image.
    public let right: SIMD3<Double>
    /// A unit vector in RAS+ mm that points down in the image.
    public let down: SIMD3<Double>
    /// The larger extent of the region along ``right`` and ``down`` in mm.
    public let extent: Double
    /// The plane in words: "axial slice k = 12", "coronal plane", "oblique plane".
    public let plane: String
    /// The points of a line, or of the arms of an angle, in RAS+ mm; empty for areas and bodies.
    public let line: [SIMD3<Double>]

    private let placement: RegionPlacer.Placement?
    private let inverse: Affine

    /// nil for a region that cannot be placed on the grid.
    public init?(of region: RegionOfInterest, in geometry: VolumeGeometry) {
        guard let placer = try? RegionPlacer(geometry), let inverse = geometry.affine.inverse else { return nil }
        do {
            placement = try placer.place(region)
        } catch {
            return nil
        }
        self.inverse = inverse
        line = region.shape.line.map { placer.point($0, region.space) }
        let planes = GridPlanes(geometry.affine)
        let shown = placement.map { Shown($0, planes, geometry.affine) } ?? Shown(line, planes)
        center = shown.center
        (right, down) = (shown.display.right, shown.display.down)
        extent = max(shown.extent.x, shown.extent.y)
        plane = shown.plane
    }

    /// Whether a point of the plane, in RAS+ mm, is in the region; false for lines.
    public func contains(_ point: SIMD3<Double>) -> Bool {
        switch placement {
        case .samples(let samples): samples.outline.contains(samples.frame.coordinates(point))
        case .grid(let grid): grid.contains(index: inverse(point), point: point)
        case nil: false
        }
    }
}

extension RegionOfInterest.Shape {
    /// The points of a line or of an angle's arms.
    fileprivate var line: [SIMD3<Double>] {
        switch self {
        case .length(let points): points
        case .angle(let a, let vertex, let b): [a, vertex, b]
        case .circle, .ellipse, .rectangle, .polygon, .sphere, .box: []
        }
    }
}

extension RegionView {
    /// What ``RegionView`` shows of a region, by its kind.
    fileprivate struct Shown {
        let display: DisplayPlane
        let center: SIMD3<Double>
        let extent: SIMD2<Double>
        let plane: String

        init(_ line: [SIMD3<Double>], _ planes: GridPlanes) {
            let candidates = planes.axes.map { axis in
                let display = planes.display(across: axis)
                return (display, display.bounds(of: line), planes.name(of: axis) + " plane")
            }
            func reach(_ extent: SIMD2<Double>) -> Double { (extent * extent).sum() }
            let best = candidates.dropFirst().reduce(candidates[0]) {
                reach($1.1.extent) > reach($0.1.extent) * (1 + 1e-9) ? $1 : $0
            }
            display = best.0
            (center, extent) = best.1
            plane = best.2
        }

        init(_ placement: RegionPlacer.Placement, _ planes: GridPlanes, _ affine: Affine) {
            switch placement {
            case .samples(let samples):
                display = DisplayPlane(normal: cross(samples.frame.right, samples.frame.up), along: [])
                (center, extent) = Self.bounds(samples.frame, samples.outline, display)
                plane = "oblique plane"
            case .grid(let grid):
                let axis = grid.slice?.axis ?? planes.axes[0]
                let display = planes.display(across: axis)
                switch grid.inside {
                case .flat(let frame, let outline):
                    self.display = display
                    (center, extent) = Self.bounds(frame, outline, display)
                    plane = "\(planes.name(of: axis)) slice \(["i", "j", "k"][axis]) = \(grid.slice?.index ?? 0)"
                case .sphere(let middle, let radius):
                    self.display = display
                    (center, extent) = (middle, SIMD2(2 * radius, 2 * radius))
                    plane = "axial plane"
                case .patientBox(let lower, let upper):
                    self.display = DisplayPlane(normal: SIMD3(0, 0, 1), along: [])
                    (center, extent) = ((lower + upper) / 2, SIMD2(upper.x - lower.x, upper.y - lower.y))
                    plane = "axial plane"
                case .voxelBox(let lower, let upper):
                    self.display = display
                    let corners = (0..<8).map { corner in
                        affine(
                            SIMD3(
                                corner & 1 == 0 ? lower.x : upper.x,
                                corner & 2 == 0 ? lower.y : upper.y,
                                corner & 4 == 0 ? lower.z : upper.z
                            )
                        )
                    }
                    center = affine((lower + upper) / 2)
                    extent = display.bounds(of: corners).extent
                    plane = "axial plane"
                }
            }
        }

        private static func bounds(
            _ frame: RegionPlacer.Placement.Frame,
            _ outline: RegionPlacer.Outline,
            _ display: DisplayPlane
        ) -> (SIMD3<Double>, SIMD2<Double>) {
            let ranges = [display.right, display.down].map { direction in
                outline.extent(along: SIMD2(dot(direction, frame.right), dot(direction, frame.up)))
            }
            let middles = ranges.map { ($0.lowerBound + $0.upperBound) / 2 }
            return (
                frame.center + display.right * middles[0] + display.down * middles[1],
                SIMD2(ranges[0].upperBound - ranges[0].lowerBound, ranges[1].upperBound - ranges[1].lowerBound)
            )
        }
    }

    /// The directions in which a plane is drawn, by the radiological convention.
    fileprivate struct DisplayPlane {
        /// Perpendicular unit vectors in RAS+.
        let right: SIMD3<Double>
        let down: SIMD3<Double>

        /// - Parameters:
        ///   - normal: of any length but 0.
        ///   - axes: directions in the plane; rows of the image run along the one that is closest to the patient's axis.
        ///     Without any, along that axis projected into the plane.
        init(normal: SIMD3<Double>, along axes: [SIMD3<Double>]) {
            let n = normal / length(normal)
            let dominant = [2, 1, 0].max { abs(n[$0]) < abs(n[$1]) - 1e-9 } ?? 2
            let wanted = dominant == 0 ? SIMD3<Double>(0, -1, 0) : SIMD3(-1, 0, 0)
            let below = dominant == 2 ? SIMD3<Double>(0, -1, 0) : SIMD3(0, 0, -1)
            let closest = axes.map { $0 / length($0) }.max { abs(dot($0, wanted)) < abs(dot($1, wanted)) - 1e-9 }
            let row = closest.map { dot($0, wanted) < 0 ? -$0 : $0 } ?? wanted
            let inPlane = row - n * dot(row, n)
            right = inPlane / length(inPlane)
            let column = cross(n, right)
            down = dot(column, below) < 0 ? -column : column
        }

        /// The middle and the larger side of the smallest rectangle around points, along the two directions.
        func bounds(of points: [SIMD3<Double>]) -> (center: SIMD3<Double>, extent: SIMD2<Double>) {
            guard let first = points.first else { return (.zero, .zero) }
            let places = points.map { SIMD2(dot($0 - first, right), dot($0 - first, down)) }
            let lower = places.reduce(places[0]) { pointwiseMin($0, $1) }
            let upper = places.reduce(places[0]) { pointwiseMax($0, $1) }
            let middle = (lower + upper) / 2
            return (first + right * middle.x + down * middle.y, upper - lower)
        }
    }

    /// The planes of a grid's slices, with their anatomical names.
    fileprivate struct GridPlanes {
        private let affine: Affine
        private let orientation: AxisOrientation

        init(_ affine: Affine) {
            self.affine = affine
            orientation = AxisOrientation(of: affine)
        }

        /// The stored axes across which the axial, coronal and sagittal slices lie.
        var axes: [Int] { [orientation.source[2], orientation.source[1], orientation.source[0]] }

        func name(of axis: Int) -> String { ["axial", "coronal", "sagittal"][axes.firstIndex(of: axis) ?? 0] }

        func display(across axis: Int) -> DisplayPlane {
            let others = (0..<3).filter { $0 != axis }.map(affine.column)
            return DisplayPlane(normal: cross(others[0], others[1]), along: others)
        }
    }
}
