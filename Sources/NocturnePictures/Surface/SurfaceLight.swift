import NocturneCore

/// Shading of a surface: Phong's model, with one light source above the viewer's left shoulder.
///
/// Directions are along R, A and S; the viewer is in front of the patient.
struct SurfaceLight {
    static let viewer = SIMD3<Double>(0, 1, 0)
    static let lightDirection = unit(SIMD3(0.45, 1, 0.6))
    static let ambient = 0.22
    static let diffuse = 0.78
    static let specular = 0.25
    /// How much darker the farthest part of the labels is than the nearest.
    static let depthDarkening = 0.3

    /// - Parameters:
    ///   - normal: of length 1, pointing out of the surface.
    ///   - depth: 0 at the nearest part of the scene, 1 at the farthest.
    /// - Returns: red, green and blue, 0...255.
    static func shaded(_ color: SIMD3<Double>, normal: SIMD3<Double>, depth: Double) -> SIMD3<Double> {
        let facing = max(0, dot(normal, lightDirection))
        let mirrored = max(0, dot(normal, unit(lightDirection + viewer)))
        // Raised to the power of 32.
        let specularTerm = (0..<5).reduce(mirrored) { value, _ in value * value } * specular
        let lit =
            (color * (ambient + diffuse * facing) + SIMD3(repeating: 255 * specularTerm)) * (1 - depthDarkening * depth)
        return lit.clamped(lowerBound: .zero, upperBound: SIMD3(repeating: 255))
    }

    static func unit(_ vector: SIMD3<Double>) -> SIMD3<Double> {
        let size = length(vector)
        return size > 0 ? vector / size : viewer
    }
}
