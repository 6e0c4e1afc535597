/// A 3×4 affine map in double precision: voxel indices (i, j, k) to millimetres in RAS+ patient space, unless stated
/// otherwise.
///
/// RAS+ means that x increases to the patient's right, y to the front, z to the head. DICOM's own space is LPS+ (x and
/// y negated).
public struct Affine: Hashable, Sendable, Codable {
    /// The step in mm from a voxel to its neighbour along i.
    public var columnI: SIMD3<Double>
    /// The step in mm from a voxel to its neighbour along j.
    public var columnJ: SIMD3<Double>
    /// The step in mm from a voxel to its neighbour along k.
    public var columnK: SIMD3<Double>
    /// The position in mm of the centre of voxel (0, 0, 0).
    public var translation: SIMD3<Double>

    /// - Parameters:
    ///   - columnI: the step in mm along i.
    ///   - columnJ: the step in mm along j.
    ///   - columnK: the step in mm along k.
    ///   - translation: the centre of voxel (0, 0, 0) in mm.
    public init(
        columnI: SIMD3<Double>,
        columnJ: SIMD3<Double>,
        columnK: SIMD3<Double>,
        translation: SIMD3<Double>
    ) {
        self.columnI = columnI
        self.columnJ = columnJ
        self.columnK = columnK
        self.translation = translation
    }

    /// Three rows of four numbers, as in NIfTI's s-form.
    public init(rows: [[Double]]) {
        precondition(rows.count >= 3 && rows.allSatisfy { $0.count == 4 }, "an affine has three rows of four numbers")
        func column(_ c: Int) -> SIMD3<Double> { SIMD3(rows[0][c], rows[1][c], rows[2][c]) }
        self.init(columnI: column(0), columnJ: column(1), columnK: column(2), translation: column(3))
    }

    /// Indices are millimetres: RAS, 1 mm, the first voxel at the origin.
    public static let identity = Affine(
        columnI: SIMD3(1, 0, 0),
        columnJ: SIMD3(0, 1, 0),
        columnK: SIMD3(0, 0, 1),
        translation: .zero
    )

    /// A map that multiplies each axis; with `spacing` in mm, a RAS grid whose first voxel is at the origin.
    public static func scaling(_ spacing: SIMD3<Double>) -> Affine {
        Affine(
            columnI: SIMD3(spacing.x, 0, 0),
            columnJ: SIMD3(0, spacing.y, 0),
            columnK: SIMD3(0, 0, spacing.z),
            translation: .zero
        )
    }

    /// The column of an axis, 0 to 2; every other number is taken for 2.
    public func column(_ axis: Int) -> SIMD3<Double> { axis == 0 ? columnI : axis == 1 ? columnJ : columnK }

    /// Three rows of four numbers, then (0, 0, 0, 1).
    public var rows: [[Double]] {
        (0..<3).map { [columnI[$0], columnJ[$0], columnK[$0], translation[$0]] } + [[0, 0, 0, 1]]
    }

    /// The position of (possibly fractional) voxel `index`.
    public func callAsFunction(_ index: SIMD3<Double>) -> SIMD3<Double> {
        columnI * index.x + columnJ * index.y + columnK * index.z + translation
    }

    /// The map of a direction: the linear part without the translation.
    public func linear(_ step: SIMD3<Double>) -> SIMD3<Double> {
        columnI * step.x + columnJ * step.y + columnK * step.z
    }

    /// The determinant of the linear part: negative for a left-handed grid, its magnitude the volume of a voxel in mm³.
    public var determinant: Double { dot(cross(columnI, columnJ), columnK) }

    /// Nil when the map is singular or not finite.
    public var inverse: Affine? {
        let d = determinant
        // The volume of a voxel in mm³: even one of 10 nm has 1e-15.
        guard d.isFinite, abs(d) > 1e-30 else { return nil }
        // The rows of the inverse are the vector products of the columns, divided by the determinant (Cramer's rule).
        let r0 = cross(columnJ, columnK) / d
        let r1 = cross(columnK, columnI) / d
        let r2 = cross(columnI, columnJ) / d
        let t = SIMD3(-dot(r0, translation), -dot(r1, translation), -dot(r2, translation))
        return Affine(
            columnI: SIMD3(r0.x, r1.x, r2.x),
            columnJ: SIMD3(r0.y, r1.y, r2.y),
            columnK: SIMD3(r0.z, r1.z, r2.z),
            translation: t
        )
    }

    /// The map that applies `inner` first.
    public func composed(with inner: Affine) -> Affine {
        Affine(
            columnI: linear(inner.columnI),
            columnJ: linear(inner.columnJ),
            columnK: linear(inner.columnK),
            translation: self(inner.translation)
        )
    }

    /// The directions of the axes without spacing and shear: the orthogonal matrix closest to the columns of unit length
    /// (the factor of their polar decomposition), column by column. Of a singular map, those columns themselves.
    package var closestRotation: [SIMD3<Double>] {
        var columns = (0..<3).map { axis -> SIMD3<Double> in
            let norm = length(column(axis))
            return norm > 0 ? column(axis) / norm : .zero
        }
        // Newton's iteration: the mean with the transposed inverse. It converges quadratically once it is close.
        for _ in 0..<64 {
            let volume = dot(cross(columns[0], columns[1]), columns[2])
            guard abs(volume) > 1e-12 else { return columns }
            let next = (0..<3).map { axis in
                (columns[axis] + cross(columns[(axis + 1) % 3], columns[(axis + 2) % 3]) / volume) / 2
            }
            let change = zip(columns, next).map { length($0 - $1) }.reduce(0, +)
            columns = next
            if change < 1e-14 { break }
        }
        return columns
    }

    /// The same map into DICOM's LPS+ space (or back): the signs of x and y change.
    public var flippedBetweenRASAndLPS: Affine {
        let flip = SIMD3<Double>(-1, -1, 1)
        return Affine(
            columnI: columnI * flip,
            columnJ: columnJ * flip,
            columnK: columnK * flip,
            translation: translation * flip
        )
    }

    /// Whether no number is NaN or infinite. Headers may contain both.
    public var isFinite: Bool {
        [columnI, columnJ, columnK, translation].allSatisfy { $0.x.isFinite && $0.y.isFinite && $0.z.isFinite }
    }
}

/// The scalar product.
public func dot(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> Double { (a * b).sum() }

/// The vector product.
public func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}

/// The Euclidean length.
public func length(_ a: SIMD3<Double>) -> Double { dot(a, a).squareRoot() }

/// The Euclidean length.
public func length(_ a: SIMD2<Double>) -> Double { (a * a).sum().squareRoot() }

extension Sequence<SIMD2<Double>> {
    /// The least and the greatest coordinates; infinite ones without points.
    package var bounds: (low: SIMD2<Double>, high: SIMD2<Double>) {
        reduce((low: SIMD2(repeating: .infinity), high: SIMD2(repeating: -.infinity))) {
            (pointwiseMin($0.low, $1), pointwiseMax($0.high, $1))
        }
    }
}
