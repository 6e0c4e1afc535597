/// Intensity-based statistics (section 3.3, UHIW), of intensities without discretisation.
enum IntensityStatistics: FeatureFamily {
    static let family = RadiomicsSettings.Family.statistics
    static let section = "3.3"

    private typealias Definition = FeatureDefinition<DistributionMeasures>

    private static let features: [FeatureDefinition<DistributionMeasures>] = [
        Definition("stat_mean", "Q4LE", "Mean intensity") { $0.mean },
        Definition("stat_var", "ECT3", "Intensity variance") { $0.variance },
        Definition("stat_skew", "KE2A", "Intensity skewness") { $0.skewness },
        Definition("stat_kurt", "IPH6", "(Excess) intensity kurtosis") { $0.kurtosis },
        Definition("stat_median", "Y12H", "Median intensity") { $0.median },
        Definition("stat_min", "1GSF", "Minimum intensity") { $0.ranked.least },
        Definition("stat_p10", "QG58", "10th intensity percentile") { $0.percentile10 },
        Definition("stat_p90", "8DWT", "90th intensity percentile") { $0.percentile90 },
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

    static var descriptions: [FeatureDescription] { features.map(\.description) }

    static func values(of source: FeatureSource) -> [FeatureValue] {
        if let absence = source.intensityAbsence { return absent(absence, source.settings) }
        let measures = DistributionMeasures(RankedValues(source.region.values()))
        return features.map { FeatureValue($0.name, $0.code, $0.value(measures)) }
    }
}

extension DistributionMeasures {
    /// Of the variance and the mean, so that no second pass is needed.
    fileprivate var energy: Double { ranked.count * (variance + mean * mean) }
}
