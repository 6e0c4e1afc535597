internal import NocturneCore

/// Values in ascending order, with what statistics and histograms share.
package struct RankedValues: Sendable {
    /// Ascending.
    package let sorted: [Float]

    /// - Parameter values: finite.
    /// - Complexity: linear: three passes over keys of 11 bits.
    package init(_ values: [Float]) { sorted = Self.sort(values) }

    /// How many values there are, as the divisor of means.
    package var count: Double { Double(sorted.count) }
    /// - Precondition: there is a value.
    package var least: Double { Double(sorted[0]) }
    /// - Precondition: there is a value.
    package var greatest: Double { Double(sorted[sorted.count - 1]) }

    /// The percentile by linear interpolation between ranks, as NumPy's default. The manual does not fix this.
    package func percentile(_ percent: Double) -> Double {
        let place = percent / 100 * Double(sorted.count - 1)
        let lower = Int(place.rounded(.down))
        let upper = min(lower + 1, sorted.count - 1)
        let below = Double(sorted[lower])
        return below + (place - Double(lower)) * (Double(sorted[upper]) - below)
    }

    private static func sort(_ values: [Float]) -> [Float] {
        guard values.count > 256 else { return values.sorted() }
        // Both zeros have one key.
        var keys = values.map { ($0 + 0).orderedBits }
        var other = [UInt32](repeating: 0, count: keys.count)
        for shift in [0, 11, 22] as [UInt32] {
            var starts = [Int](repeating: 0, count: 2049)
            for key in keys { starts[Int(key >> shift & 2047) + 1] += 1 }
            for digit in 0..<2048 { starts[digit + 1] += starts[digit] }
            for key in keys {
                let digit = Int(key >> shift & 2047)
                other[starts[digit]] = key
                starts[digit] += 1
            }
            swap(&keys, &other)
        }
        return keys.map { Float(orderedBits: $0) }
    }
}

/// The measures that intensities and grey levels have in common (sections 3.3 and 3.4).
struct DistributionMeasures: Sendable {
    let ranked: RankedValues
    let mean: Double
    /// The mean squared deviation: divided by the number of values, not by one less.
    let variance: Double
    let skewness: Double
    /// Excess: 0 for a normal distribution.
    let kurtosis: Double
    let median: Double
    let meanAbsoluteDeviation: Double
    /// Of the values from the 10th to the 90th percentile, from their own mean.
    let robustMeanAbsoluteDeviation: Double
    /// The mean deviation from the median, as the manual defines it, not the median of deviations.
    let medianAbsoluteDeviation: Double

    /// - Precondition: there is a value.
    init(_ ranked: RankedValues) {
        self.ranked = ranked
        let values = ranked.sorted
        var sum = 0.0
        for value in values { sum += Double(value) }
        let mean = sum / ranked.count
        let median = ranked.percentile(50)
        var (second, third, fourth, absolute, fromMedian) = (0.0, 0.0, 0.0, 0.0, 0.0)
        for value in values {
            let deviation = Double(value) - mean
            let square = deviation * deviation
            second += square
            third += square * deviation
            fourth += square * square
            absolute += abs(deviation)
            fromMedian += abs(Double(value) - median)
        }
        self.mean = mean
        self.median = median
        variance = second / ranked.count
        // The manual: 0 where there is no variance.
        skewness = variance > 0 ? third / ranked.count / (variance * variance.squareRoot()) : 0
        kurtosis = variance > 0 ? fourth / ranked.count / (variance * variance) - 3 : 0
        meanAbsoluteDeviation = absolute / ranked.count
        medianAbsoluteDeviation = fromMedian / ranked.count
        robustMeanAbsoluteDeviation = Self.deviation(of: values, from: ranked.percentile(10), to: ranked.percentile(90))
    }

    private static func deviation(of values: [Float], from lower: Double, to upper: Double) -> Double {
        var (sum, count) = (0.0, 0.0)
        for value in values where Double(value) >= lower && Double(value) <= upper {
            sum += Double(value)
            count += 1
        }
        let mean = sum / count
        var deviation = 0.0
        for value in values where Double(value) >= lower && Double(value) <= upper {
            deviation += abs(Double(value) - mean)
        }
        return deviation / count
    }

    var interquartileRange: Double { ranked.percentile(75) - ranked.percentile(25) }
    var range: Double { ranked.greatest - ranked.least }
    /// Not finite for a mean of 0, which is reported as undefined.
    var coefficientOfVariation: Double { variance.squareRoot() / mean }
    /// Not finite where the quartiles cancel each other.
    var quartileCoefficient: Double { interquartileRange / (ranked.percentile(75) + ranked.percentile(25)) }
    /// Of the variance and the mean, so that no second pass is needed.
    var energy: Double { ranked.count * (variance + mean * mean) }
}
