import NocturneCore

/// Places regions on one grid.
struct RegionPlacer {
    let geometry: VolumeGeometry
    private let inverse: Affine

    /// - Throws: ``RegionPlacer/Placement/Problem`` when the grid has no inverse.
    init(_ geometry: VolumeGeometry) throws(Placement.Problem) {
        guard let inverse = geometry.affine.inverse else {
            throw Placement.Problem(detail: "the grid is flat")
        }
        self.geometry = geometry
        self.inverse = inverse
    }

    /// In RAS+ mm.
    func point(_ point: SIMD3<Double>, _ space: RegionOfInterest.Space) -> SIMD3<Double> {
        switch space {
        case .patientRas: point
        case .patientLps: point * SIMD3(-1, -1, 1)
        case .voxel: geometry.affine(point)
        }
    }

    /// nil for lengths and angles.
    func place(_ region: RegionOfInterest) throws(Placement.Problem) -> Placement? {
        func at(_ point: SIMD3<Double>) -> SIMD3<Double> { self.point(point, region.space) }
        switch region.shape {
        case .length, .angle: return nil
        case .circle(let center, let radius, let plane):
            return try flat(at(center), plane, region.space) { _ in
                Outline(.ellipse(SIMD2(radius, radius)))
            }
        case .ellipse(let center, let radii, let rotation, let plane):
            return try flat(at(center), plane, region.space) { _ in
                Outline(.ellipse(radii), rotation: rotation)
            }
        case .rectangle(let center, let size, let rotation, let plane):
            return try flat(at(center), plane, region.space) { _ in
                Outline(.rectangle(size / 2), rotation: rotation)
            }
        case .polygon(let corners, let plane):
            guard corners.count >= 3 else {
                throw Placement.Problem(detail: "a polygon has three corners or more")
            }
            let places = corners.map(at)
            let center = places.reduce(.zero, +) / Double(places.count)
            return try flat(center, plane, region.space) { frame in
                Outline(.polygon(places.map(frame.coordinates)))
            }
        case .sphere(let center, let radius): return .grid(sphere(at(center), radius))
        case .box(let lower, let upper): return .grid(box(lower, upper, region.space))
        }
    }

    // MARK: Bodies

    /// How an index changes with the position in RAS+ mm.
    private func gradient(_ axis: Int) -> SIMD3<Double> {
        SIMD3(inverse.columnI[axis], inverse.columnJ[axis], inverse.columnK[axis])
    }

    /// A sphere is an ellipsoid in indices: along an axis it reaches as far as the gradient of the index is long, times the
    /// radius, also on oblique and sheared grids.
    private func sphere(_ center: SIMD3<Double>, _ radius: Double) -> Placement.Grid {
        let middle = inverse(center)
        let reach = SIMD3(length(gradient(0)), length(gradient(1)), length(gradient(2))) * radius
        return .init(
            inside: .sphere(center: center, radius: radius),
            lower: middle - reach,
            upper: middle + reach,
            slice: nil
        )
    }

    /// On an oblique grid a box of the patient is tilted in indices: its candidates lie between the extremes of its corners.
    private func box(
        _ lower: SIMD3<Double>,
        _ upper: SIMD3<Double>,
        _ space: RegionOfInterest.Space
    ) -> Placement.Grid {
        if space == .voxel {
            return .init(inside: .voxelBox(lower: lower, upper: upper), lower: lower, upper: upper, slice: nil)
        }
        let (a, b) = (point(lower, space), point(upper, space))
        let (low, high) = (pointwiseMin(a, b), pointwiseMax(a, b))
        let corners = (0..<8).map { corner in
            inverse(
                SIMD3(
                    corner & 1 == 0 ? low.x : high.x,
                    corner & 2 == 0 ? low.y : high.y,
                    corner & 4 == 0 ? low.z : high.z
                )
            )
        }
        return .init(
            inside: .patientBox(lower: low, upper: high),
            lower: corners.dropFirst().reduce(corners[0]) { pointwiseMin($0, $1) },
            upper: corners.dropFirst().reduce(corners[0]) { pointwiseMax($0, $1) },
            slice: nil
        )
    }

    // MARK: Flat regions

    private func flat(
        _ center: SIMD3<Double>,
        _ plane: RegionOfInterest.Plane,
        _ space: RegionOfInterest.Space,
        _ outline: (Placement.Frame) -> Outline
    ) throws(Placement.Problem) -> Placement {
        switch plane {
        case .slice(let across, let index):
            return .grid(slice(center, gridAxis(across), index, outline))
        case .oblique(let normal, let point, let right, let spacing):
            guard space != .voxel else {
                throw Placement.Problem(detail: "a plane with a normal needs points in a patient space")
            }
            let flip = space == .patientLps ? SIMD3<Double>(-1, -1, 1) : SIMD3(1, 1, 1)
            let frame = try frame(
                through: center,
                normal: normal * flip,
                point: point.map { self.point($0, space) },
                right: right.map { $0 * flip },
                fallback: flip
            )
            return .samples(try samples(frame, outline(frame), spacing ?? geometry.spacing.min()))
        }
    }

    private func gridAxis(_ axis: RegionOfInterest.Axis) -> Int {
        let orientation = AxisOrientation(of: geometry.affine)
        switch axis {
        case .i: return 0
        case .j: return 1
        case .k: return 2
        case .sagittal: return orientation.source[0]
        case .coronal: return orientation.source[1]
        case .axial: return orientation.source[2]
        }
    }

    private func slice(
        _ center: SIMD3<Double>,
        _ axis: Int,
        _ wanted: Int?,
        _ outline: (Placement.Frame) -> Outline
    ) -> Placement.Grid {
        // Half way between two slices the later one is used.
        let nearest = (inverse(center)[axis] + 0.5).rounded(.down)
        let index = wanted ?? Int(max(-1e9, min(1e9, nearest)))
        let others = (0..<3).filter { $0 != axis }
        let (first, second) = (geometry.affine.column(others[0]), geometry.affine.column(others[1]))
        let right = first / length(first)
        let rest = second - right * dot(second, right)
        let up = rest / length(rest)
        let normal = cross(right, up)
        var step = SIMD3<Double>.zero
        step[axis] = Double(index)
        let onSlice = center - normal * dot(center - geometry.affine(step), normal)
        let frame = Placement.Frame(center: onSlice, right: right, up: up)
        let border = outline(frame)
        let middle = inverse(onSlice)
        var (lower, upper) = (step, step)
        for other in others {
            let reach = border.extent(along: SIMD2(dot(gradient(other), right), dot(gradient(other), up)))
            lower[other] = middle[other] + reach.lowerBound
            upper[other] = middle[other] + reach.upperBound
        }
        return .init(inside: .flat(frame, border), lower: lower, upper: upper, slice: (axis, index))
    }

    /// The first axis is `right` projected into the plane, or the x axis of the region's space, or its y axis if the
    /// normal is within about 26 degrees of x. The second one is the cross product of the normal and the first.
    private func frame(
        through center: SIMD3<Double>,
        normal: SIMD3<Double>,
        point: SIMD3<Double>?,
        right: SIMD3<Double>?,
        fallback flip: SIMD3<Double>
    ) throws(Placement.Problem) -> Placement.Frame {
        guard length(normal) > 1e-9 else { throw Placement.Problem(detail: "the normal has no direction") }
        let n = normal / length(normal)
        let wanted = right ?? (abs(n.x) > 0.9 ? SIMD3(0, flip.y, 0) : SIMD3(flip.x, 0, 0))
        let inPlane = wanted - n * dot(wanted, n)
        guard length(inPlane) > 1e-6 * length(wanted), length(wanted) > 1e-9 else {
            throw Placement.Problem(detail: "the first axis is at right angles to the plane")
        }
        let u = inPlane / length(inPlane)
        // Two reversed axes amount to a half turn, so the product is correct in both spaces.
        return Placement.Frame(
            center: point.map { center - n * dot(center - $0, n) } ?? center,
            right: u,
            up: cross(n, u)
        )
    }

    private func samples(
        _ frame: Placement.Frame,
        _ outline: Outline,
        _ spacing: Double
    ) throws(Placement.Problem) -> Placement.Samples {
        let across = outline.extent(along: SIMD2(1, 0))
        let upward = outline.extent(along: SIMD2(0, 1))
        func steps(_ range: ClosedRange<Double>) -> (first: Double, count: Double) {
            let first = (range.lowerBound / spacing - 1e-6).rounded(.up)
            let last = (range.upperBound / spacing + 1e-6).rounded(.down)
            return (first, max(0, last - first + 1))
        }
        let (x, y) = (steps(across), steps(upward))
        guard x.count * y.count <= Double(Placement.Samples.maximumCount), abs(x.first) < 1e9,
            abs(y.first) < 1e9
        else {
            throw Placement.Problem(
                detail: "\(spacing) mm apart, samples would be more than \(Placement.Samples.maximumCount)"
            )
        }
        return .init(
            frame: frame,
            outline: outline,
            spacing: spacing,
            first: SIMD2(Int(x.first), Int(y.first)),
            columns: Int(x.count),
            rows: Int(y.count)
        )
    }
}
