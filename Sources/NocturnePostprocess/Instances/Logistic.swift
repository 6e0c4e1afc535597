#if canImport(Glibc)
    import Glibc
#endif

/// Angles in degrees.
enum Angle {
    /// The angle of the vector (x, y), from -180 to 180.
    static func degrees(y: Double, x: Double) -> Double { atan2(y, x) * 180 / .pi }
}

/// The inverse of the logistic function.
enum Logit {
    /// - Parameter chance: a probability above 0 and below 1; the limits give infinities.
    static func of(_ chance: Float) -> Float { log(chance / (1 - chance)) }
}
