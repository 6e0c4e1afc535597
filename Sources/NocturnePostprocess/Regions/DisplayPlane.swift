import NocturneCore

/// The directions in which a plane is drawn, by the radiological convention.
struct DisplayPlane {
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
struct GridPlanes {
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
