import Foundation

extension Double {
    /// Rounded as results and tables state measures: to six decimal places, finer than any measure is meaningful, and coarser than the
    /// effect of the order of a sum.
    /// - Parameter scale: the largest magnitude of what the value was computed from. Where it is below 0.1, six significant digits of it
    ///   are kept instead: diffusion coefficients in m²/s are about 1e-9.
    package func roundedForResults(scale: Double = 1) -> Double {
        let places = scale > 0 && scale < 0.1 ? min(5 - log10(scale).rounded(.down), 300) : 6
        let factor = pow(10, places)
        return (self * factor).rounded() / factor
    }
}
