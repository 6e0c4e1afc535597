internal import NocturneCore

/// The principal components of the positions of voxels.
struct PrincipalAxes: Sendable {
    /// The variances in mm², descending; NaN for a single voxel. As in the standard's reference values, sums of squares are
    /// divided by the number of voxels less one.
    let variances: SIMD3<Double>
    /// The mean position in mm from the centre of the first voxel of the box.
    let centre: SIMD3<Double>

    /// - Precondition: a voxel is set.
    /// - Complexity: one read; sums of integers, which are exact.
    init(of mask: [UInt8], shape: VolumeShape, spacing: SIMD3<Double>) {
        var count = 0
        var sums = SIMD3(0, 0, 0)
        // xx, yy, zz, yz, xz, xy
        var products = [Int](repeating: 0, count: 6)
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                let first = shape.offset(0, j, k)
                var (number, sum, squares) = (0, 0, 0)
                for i in 0..<shape.x where mask[first + i] != 0 {
                    number += 1
                    sum += i
                    squares += i * i
                }
                count += number
                sums &+= SIMD3(sum, j * number, k * number)
                let row = [squares, j * j * number, k * k * number, j * k * number, k * sum, j * sum]
                for place in 0..<6 { products[place] += row[place] }
            }
        }
        let total = Double(count)
        let mean = SIMD3<Double>(sums) / total
        let moments = products.map { Double($0) / total }
        centre = mean * spacing
        variances =
            total / (total - 1)
            * Self.eigenvalues(
                diagonal: SIMD3(moments[0], moments[1], moments[2]) * spacing * spacing - centre * centre,
                others: SIMD3(
                    (moments[3] - mean.y * mean.z) * spacing.y * spacing.z,
                    (moments[4] - mean.x * mean.z) * spacing.x * spacing.z,
                    (moments[5] - mean.x * mean.y) * spacing.x * spacing.y
                )
            )
    }

    /// Of a symmetric matrix, descending, by Jacobi's rotations. Values within rounding of 0 are 0.
    /// - Parameter others: the elements yz, xz and xy.
    private static func eigenvalues(diagonal: SIMD3<Double>, others: SIMD3<Double>) -> SIMD3<Double> {
        var a = [
            [diagonal.x, others.z, others.y], [others.z, diagonal.y, others.x], [others.y, others.x, diagonal.z],
        ]
        // Rotations converge quadratically, so a few sweeps suffice; the others change nothing. A formula for the roots of the
        // characteristic polynomial would lose digits where two variances are almost equal.
        for _ in 0..<32 {
            for (p, q) in [(0, 1), (0, 2), (1, 2)] where a[p][q] != 0 {
                let theta = (a[q][q] - a[p][p]) / (2 * a[p][q])
                let tangent = (theta < 0 ? -1.0 : 1) / (abs(theta) + (theta * theta + 1).squareRoot())
                let cosine = 1 / (tangent * tangent + 1).squareRoot()
                let sine = tangent * cosine
                for k in 0..<3 {
                    (a[k][p], a[k][q]) = (cosine * a[k][p] - sine * a[k][q], sine * a[k][p] + cosine * a[k][q])
                }
                for k in 0..<3 {
                    (a[p][k], a[q][k]) = (cosine * a[p][k] - sine * a[q][k], sine * a[p][k] + cosine * a[q][k])
                }
            }
        }
        let sorted = [a[0][0], a[1][1], a[2][2]].sorted(by: >)
        let values = sorted.map { $0 > sorted[0] * 1e-12 ? $0 : 0 }
        return SIMD3(values[0], values[1], values[2])
    }
}

/// An ellipsoid by its half axes in mm, descending.
package struct Ellipsoid: Sendable {
    /// Longest first.
    package let halfAxes: SIMD3<Double>

    /// - Parameter halfAxes: in mm, longest first.
    package init(halfAxes: SIMD3<Double>) { self.halfAxes = halfAxes }

    /// In mm³; 0 for a flat ellipsoid.
    package var volume: Double { 4 * .pi / 3 * halfAxes.x * halfAxes.y * halfAxes.z }

    /// By the series of the manual with Legendre polynomials, to the 20th degree, on which the reference values rest. It is
    /// exact for spheres and gives less than the area of elongated ellipsoids. NaN for a flat ellipsoid.
    package var area: Double {
        let (a, b, c) = (halfAxes.x, halfAxes.y, halfAxes.z)
        guard c > 0 else { return .nan }
        let alpha = (1 - b * b / (a * a)).squareRoot()
        let beta = (1 - c * c / (a * a)).squareRoot()
        guard alpha > 1e-8 else { return beta > 0 ? oblateArea : 4 * .pi * a * a }
        let argument = (alpha * alpha + beta * beta) / (2 * alpha * beta)
        // The series is in αβ and (α² + β²) / 2αβ, with the eccentricities α and β of the manual.
        // P₀ and P₁, then Bonnet's recursion.
        var (before, last) = (1.0, argument)
        var (power, sum) = (1.0, 1.0)
        for degree in 1...20 {
            power *= alpha * beta
            sum += power * last / Double(1 - 4 * degree * degree)
            let next = (Double(2 * degree + 1) * argument * last - Double(degree) * before) / Double(degree + 1)
            (before, last) = (last, next)
        }
        return 4 * .pi * a * b * sum
    }

    /// Of two equal long axes, where the argument of the polynomials is infinite: the limit of αⁿβⁿPₙ is
    /// β²ⁿ (2n)! / (4ⁿ n!²).
    private var oblateArea: Double {
        let square = 1 - halfAxes.z * halfAxes.z / (halfAxes.x * halfAxes.x)
        var (term, sum) = (1.0, 1.0)
        for degree in 1...20 {
            term *= square * Double(2 * degree - 1) / Double(2 * degree)
            sum += term / Double(1 - 4 * degree * degree)
        }
        return 4 * .pi * halfAxes.x * halfAxes.y * sum
    }
}
