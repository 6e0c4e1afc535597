internal import NocturneCore

/// The q-form: a rotation as three parts of a unit quaternion, spacings, a sign for the third axis, and an offset.
///
/// Source: nifti1.h, method 2, and `nifti_quatern_to_mat44` and `nifti_mat44_to_quatern` of the reference library.
struct NIfTIQuaternion {
    var b: Double
    var c: Double
    var d: Double
    var spacing: SIMD3<Double>
    /// -1 when the third axis is mirrored, which makes the grid left-handed.
    var handedness: Double
    var offset: SIMD3<Double>

    /// Rounds the rotation to the precision that NIfTI-1 stores.
    mutating func roundToFloat() { (b, c, d) = (Double(Float(b)), Double(Float(c)), Double(Float(d))) }

    /// b² + c² + d²: 1 at most, but for rounding.
    var squaredLength: Double { b * b + c * c + d * d }

    /// The map from voxel indices to RAS+.
    var affine: Affine {
        var (b, c, d) = (b, c, d)
        let rest = 1 - squaredLength
        let a: Double
        if rest < 1e-7 {
            // A half turn: float32 rounding may increase the three components beyond unit length.
            let scale = 1 / squaredLength.squareRoot()
            (b, c, d) = (b * scale, c * scale, d * scale)
            a = 0
        } else {
            a = rest.squareRoot()
        }
        let columnI = SIMD3(a * a + b * b - c * c - d * d, 2 * (b * c + a * d), 2 * (b * d - a * c))
        let columnJ = SIMD3(2 * (b * c - a * d), a * a + c * c - b * b - d * d, 2 * (c * d + a * b))
        let columnK = SIMD3(2 * (b * d + a * c), 2 * (c * d - a * b), a * a + d * d - c * c - b * b)
        return Affine(
            columnI: columnI * spacing.x,
            columnJ: columnJ * spacing.y,
            columnK: columnK * (spacing.z * handedness),
            translation: offset
        )
    }
}

extension NIfTIQuaternion {
    /// The q-form of a map that consists of a rotation, spacings and possibly a reflection. Shear is lost: compare
    /// ``affine``.
    init(of affine: Affine) {
        let spacing = SIMD3(length(affine.columnI), length(affine.columnJ), length(affine.columnK))
        let handedness: Double = affine.determinant < 0 ? -1 : 1
        let i = affine.columnI / spacing.x
        let j = affine.columnJ / spacing.y
        let k = affine.columnK / spacing.z * handedness
        let trace = i.x + j.y + k.z + 1
        var (a, b, c, d): (Double, Double, Double, Double)
        if trace > 0.5 {
            a = 0.5 * trace.squareRoot()
            b = 0.25 * (j.z - k.y) / a
            c = 0.25 * (k.x - i.z) / a
            d = 0.25 * (i.y - j.x) / a
        } else {
            // Near a half turn: start from the largest component, to avoid a division by almost zero.
            let x = max(1 + i.x - (j.y + k.z), 0)
            let y = max(1 + j.y - (i.x + k.z), 0)
            let z = max(1 + k.z - (i.x + j.y), 0)
            if x >= y, x >= z {
                b = 0.5 * x.squareRoot()
                c = 0.25 * (j.x + i.y) / b
                d = 0.25 * (k.x + i.z) / b
                a = 0.25 * (j.z - k.y) / b
            } else if y >= z {
                c = 0.5 * y.squareRoot()
                b = 0.25 * (j.x + i.y) / c
                d = 0.25 * (k.y + j.z) / c
                a = 0.25 * (k.x - i.z) / c
            } else {
                d = 0.5 * z.squareRoot()
                b = 0.25 * (k.x + i.z) / d
                c = 0.25 * (k.y + j.z) / d
                a = 0.25 * (i.y - j.x) / d
            }
            if a < 0 { (b, c, d) = (-b, -c, -d) }
        }
        self.init(b: b, c: c, d: d, spacing: spacing, handedness: handedness, offset: affine.translation)
    }
}
