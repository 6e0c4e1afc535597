internal import NocturneCore

extension SurfaceExtractor {
    /// The squared distance of a point from a triangle: C. Ericson, "Real-time collision detection" (2005), section 5.1.5.
    static func squaredDistance(
        _ p: SIMD3<Double>,
        _ a: SIMD3<Double>,
        _ b: SIMD3<Double>,
        _ c: SIMD3<Double>
    ) -> Double {
        func squared(_ v: SIMD3<Double>) -> Double { dot(v, v) }
        let (ab, ac, ap) = (b - a, c - a, p - a)
        let (d1, d2) = (dot(ab, ap), dot(ac, ap))
        if d1 <= 0 && d2 <= 0 { return squared(ap) }
        let bp = p - b
        let (d3, d4) = (dot(ab, bp), dot(ac, bp))
        if d3 >= 0 && d4 <= d3 { return squared(bp) }
        let vc = d1 * d4 - d3 * d2
        if vc <= 0 && d1 >= 0 && d3 <= 0 { return squared(ap - d1 / (d1 - d3) * ab) }
        let cp = p - c
        let (d5, d6) = (dot(ab, cp), dot(ac, cp))
        if d6 >= 0 && d5 <= d6 { return squared(cp) }
        let vb = d5 * d2 - d1 * d6
        if vb <= 0 && d2 >= 0 && d6 <= 0 { return squared(ap - d2 / (d2 - d6) * ac) }
        let va = d3 * d6 - d5 * d4
        if va <= 0 && d4 >= d3 && d5 >= d6 { return squared(bp - (d4 - d3) / (d4 - d3 + d5 - d6) * (c - b)) }
        return squared(ap - (vb * ab + vc * ac) / (va + vb + vc))
    }
}
