import NocturneCore

/// The number of values in bins of equal width, counted as in `numpy.histogram`: each bin includes its lower edge, the
/// last one also its upper edge.
public struct IntensityHistogram: Hashable, Sendable, Codable {
    /// The lower edge of the first bin.
    public var lower: Double
    /// The upper edge of the last bin.
    public var upper: Double
    /// The number of values in each bin.
    public var counts: [Int]
    /// Number of values outside, where the edges were given.
    public var below: Int
    /// Number of values above the last edge, where the edges were given.
    public var above: Int

    /// Bins over a range; a range of one value is extended by half a unit on both sides.
    init(_ rule: RegionOfInterest.HistogramRule, smallest: Double, largest: Double) {
        let range = rule.range ?? smallest...largest
        let isPoint = range.lowerBound == range.upperBound
        lower = range.lowerBound - (isPoint ? 0.5 : 0)
        upper = range.upperBound + (isPoint ? 0.5 : 0)
        counts = [Int](repeating: 0, count: rule.bins)
        below = 0
        above = 0
    }

    /// The lower edge of a bin; for the bin after the last it is ``upper``.
    public func edge(_ bin: Int) -> Double {
        bin >= counts.count ? upper : Double(bin) * ((upper - lower) / Double(counts.count)) + lower
    }

    mutating func add(_ value: Double) {
        if value < lower {
            below += 1
        } else if value > upper {
            above += 1
        } else if upper <= lower {
            // Half a unit away from a single value of 17 digits is the same number.
            counts[0] += 1
        } else {
            // The quotient may have a rounding error; the edges decide.
            let last = counts.count - 1
            var bin = min(last, Int((value - lower) / (upper - lower) * Double(counts.count)))
            if bin > 0, value < edge(bin) { bin -= 1 }
            if bin < last, value >= edge(bin + 1) { bin += 1 }
            counts[bin] += 1
        }
    }

    mutating func merge(_ other: IntensityHistogram) {
        for bin in counts.indices { counts[bin] += other.counts[bin] }
        below += other.below
        above += other.above
    }
}
