private typealias Definition = FeatureDefinition<DistributionMeasures>

private let features: [Definition] = [
    Definition("stat_mean", "Q4LE", "Mean intensity") { $0.mean },
    Definition("stat_var", "ECT3", "Intensity variance") { $0.variance },
    Definition("stat_skew", "KE2A", "Intensity skewness") { $0.skewness },
    Definition("stat_kurt", "IPH6", "(Excess) intensity kurtosis") { $0.kurtosis },
    Definition("stat_median", "Y12H", "Median intensity") { $0.median },
    Definition("stat_min", "1GSF", "Minimum intensity") { $0.ranked.least },
    Definition("stat_p10", "QG58", "10th intensity percentile") { $0.ranked.percentile(10) },
    Definition("stat_p90", "8DWT", "90th intensity percentile") { $0.ranked.percentile(90) },
    Definition("stat_max", "84IY", "Maximum intensity") { $0.ranked.greatest },
    Definition("stat_iqr", "SALO", "Intensity interquartile range") { $0.interquartileRange },
    Definition("stat_range", "2OJQ", "Intensity range") { $0.range },
    Definition("stat_mad", "4FUA", "Intensity-based mean absolute deviation") { $0.meanAbsoluteDeviation },
    Definition("stat_rmad", "1128", "Intensity-based robust mean absolute deviation") {
        $0.robustMeanAbsoluteDeviation
    },
    Definition("stat_medad", "N72L", "Intensity-based median absolute deviation") { $0.medianAbsoluteDeviation },
    Definition("stat_cov", "7TET", "Intensity-based coefficient of variation") { $0.coefficientOfVariation },
    Definition("stat_qcod", "9S40", "Intensity-based quartile coefficient of dispersion") {
        $0.quartileCoefficient
    },
    Definition("stat_energy", "N8CA", "Intensity-based energy") { $0.energy },
    Definition("stat_rms", "5ZWQ", "Root mean square intensity") { ($0.energy / $0.ranked.count).squareRoot() },
]

extension FeatureFamily {
    /// Intensity-based statistics (section 3.3, UHIW), of intensities without discretisation.
    static let statistics = FeatureFamily(.statistics, features) { source throws(FeatureAbsence) in
        DistributionMeasures(RankedValues(try source.intensities().values()))
    }
}
