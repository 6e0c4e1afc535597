/// A small deterministic generator (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the
/// same seed gives the same numbers on every machine.
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Evenly spread over [0, 1).
    public mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Evenly spread over `range`, the upper bound left out.
    public mutating func float(in range: Range<Float>) -> Float {
        let value = range.lowerBound + Float(unit()) * (range.upperBound - range.lowerBound)
        // Rounding may reach the upper bound.
        return value < range.upperBound ? value : range.lowerBound
    }

    /// Evenly spread over `range`.
    public mutating func int(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// `count` numbers of about the standard normal distribution (sum of twelve uniform ones, less six).
    public mutating func normals(_ count: Int) -> [Float] {
        (0..<count).map { _ in
            var sum = -6.0
            for _ in 0..<12 { sum += unit() }
            return Float(sum)
        }
    }

    /// `count` numbers evenly spread over `range`.
    public mutating func floats(_ count: Int, in range: Range<Float> = -1..<1) -> [Float] {
        (0..<count).map { _ in float(in: range) }
    }
}
