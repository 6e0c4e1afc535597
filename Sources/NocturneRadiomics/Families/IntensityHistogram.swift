import Glibc

private typealias Definition = FeatureDefinition<HistogramMeasures>

private let features: [Definition] = [
    Definition("ih_mean", "X6K6", "Mean discretised intensity") { $0.distribution.mean },
    Definition("ih_var", "CH89", "Discretised intensity variance") { $0.distribution.variance },
    Definition("ih_skew", "88K1", "Discretised intensity skewness") { $0.distribution.skewness },
    Definition("ih_kurt", "C3I7", "(Excess) discretised intensity kurtosis") { $0.distribution.kurtosis },
    Definition("ih_median", "WIFQ", "Median discretised intensity") { $0.distribution.median },
    Definition("ih_min", "1PR8", "Minimum discretised intensity") { $0.distribution.ranked.least },
    Definition("ih_p10", "GPMT", "10th discretised intensity percentile") { $0.distribution.ranked.percentile(10) },
    Definition("ih_p90", "OZ0C", "90th discretised intensity percentile") { $0.distribution.ranked.percentile(90) },
    Definition("ih_max", "3NCY", "Maximum discretised intensity") { $0.distribution.ranked.greatest },
    Definition("ih_mode", "AMMC", "Intensity histogram mode") { $0.mode },
    Definition("ih_iqr", "WR0O", "Discretised intensity interquartile range") {
        $0.distribution.interquartileRange
    },
    Definition("ih_range", "5Z3W", "Discretised intensity range") { $0.distribution.range },
    Definition("ih_mad", "D2ZX", "Intensity histogram mean absolute deviation") {
        $0.distribution.meanAbsoluteDeviation
    },
    Definition("ih_rmad", "WRZB", "Intensity histogram robust mean absolute deviation") {
        $0.distribution.robustMeanAbsoluteDeviation
    },
    Definition("ih_medad", "4RNL", "Intensity histogram median absolute deviation") {
        $0.distribution.medianAbsoluteDeviation
    },
    Definition("ih_cov", "CWYJ", "Intensity histogram coefficient of variation") {
        $0.distribution.coefficientOfVariation
    },
    Definition("ih_qcod", "SLWD", "Intensity histogram quartile coefficient of dispersion") {
        $0.distribution.quartileCoefficient
    },
    Definition("ih_entropy", "TLU2", "Discretised intensity entropy") { $0.entropy },
    Definition("ih_uniformity", "BJ5W", "Discretised intensity uniformity") { $0.uniformity },
    Definition("ih_max_grad", "12CE", "Maximum histogram gradient") { $0.greatestGradient.value },
    Definition("ih_max_grad_g", "8E6O", "Maximum histogram gradient intensity") { $0.greatestGradient.level },
    Definition("ih_min_grad", "VQB3", "Minimum histogram gradient") { $0.leastGradient.value },
    Definition("ih_min_grad_g", "RHQZ", "Minimum histogram gradient intensity") { $0.leastGradient.level },
]

extension FeatureFamily {
    /// The histogram of grey levels (section 3.4, ZVCW).
    static let intensityHistogram = FeatureFamily(.intensityHistogram, features) { source throws(FeatureAbsence) in
        HistogramMeasures(try source.grid())
    }
}

/// The number of voxels of each grey level.
struct HistogramMeasures: Sendable {
    let distribution: DistributionMeasures
    /// The most frequent level; of several, the one closest to the mean, then the lowest.
    let mode: Double
    /// In bits.
    let entropy: Double
    /// The sum of the squared shares of levels.
    let uniformity: Double
    /// In voxels for each level, and the level at which it is.
    let greatestGradient: (value: Double, level: Double)
    let leastGradient: (value: Double, level: Double)

    init(_ grid: LevelGrid) {
        var counts = [Int](repeating: 0, count: grid.count + 1)
        // Level 0 is outside of the region, and left out below.
        for level in grid.levels { counts[Int(level)] += 1 }
        // One value for each voxel, so that percentiles are those of the same code as for intensities.
        var values: [Float] = []
        values.reserveCapacity(grid.voxelCount)
        for level in 1...grid.count {
            values += repeatElement(Float(grid.level(level)), count: counts[level])
        }
        let distribution = DistributionMeasures(RankedValues(values))
        let most = counts.dropFirst().max() ?? 0
        let modes = (1...grid.count).filter { counts[$0] == most }.map(grid.level)
        // `min` returns the first of equal elements, the lowest level.
        mode = modes.min { abs($0 - distribution.mean) < abs($1 - distribution.mean) } ?? .nan
        let shares = counts.dropFirst().map { Double($0) / Double(grid.voxelCount) }
        entropy = -shares.reduce(0) { $1 > 0 ? $0 + $1 * log2($1) : $0 }
        uniformity = shares.reduce(0) { $0 + $1 * $1 }
        self.distribution = distribution
        // The gradient spans all bins from the first: of those below the least level, two are enough, since all are empty.
        let empty = min(grid.base, 2)
        let gradients = Self.gradients([Double](repeating: 0, count: empty) + counts.dropFirst().map(Double.init))
        let levels = (1 - empty...grid.count).map(grid.level)
        greatestGradient = zip(gradients, levels).max { $0.0 < $1.0 } ?? (.nan, .nan)
        leastGradient = zip(gradients, levels).min { $0.0 < $1.0 } ?? (.nan, .nan)
    }

    /// Central differences, at both ends the difference to the only neighbour.
    private static func gradients(_ counts: [Double]) -> [Double] {
        guard counts.count > 1 else { return [.nan] }
        return counts.indices.map { place in
            let before = max(place - 1, 0)
            let after = min(place + 1, counts.count - 1)
            return (counts[after] - counts[before]) / Double(after - before)
        }
    }
}
