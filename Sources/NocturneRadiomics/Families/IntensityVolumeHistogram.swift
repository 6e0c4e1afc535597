private typealias Definition = FeatureDefinition<VolumeHistogramMeasures>

private let features: [Definition] = [
    Definition("ivh_v10", "NK6P", "Volume at 10% intensity fraction") { $0.volume(at: 0.1) },
    Definition("ivh_v90", "4279", "Volume at 90% intensity fraction") { $0.volume(at: 0.9) },
    Definition("ivh_i10", "PWN1", "Intensity at 10% volume fraction") { $0.intensity(at: 0.1) },
    Definition("ivh_i90", "BOHI", "Intensity at 90% volume fraction") { $0.intensity(at: 0.9) },
    Definition("ivh_diff_v10_v90", "WITY", "Volume fraction difference between intensity fractions") {
        $0.volume(at: 0.1) - $0.volume(at: 0.9)
    },
    Definition("ivh_diff_i10_i90", "JXJA", "Intensity fraction difference between volume fractions") {
        $0.intensity(at: 0.1) - $0.intensity(at: 0.9)
    },
]

extension FeatureFamily {
    /// The intensity-volume histogram (section 3.5, P88C): which share of the region has at least an intensity.
    static let volumeHistogram = FeatureFamily(.volumeHistogram, features) { source throws(FeatureAbsence) in
        let discretisation = source.settings.volumeHistogramDiscretisation
        guard let measures = VolumeHistogramMeasures(try source.intensities(), discretisation) else {
            throw .tooManyBins
        }
        return measures
    }
}

/// The volume fraction of every bin: the share of voxels in it and in those above.
struct VolumeHistogramMeasures: Sendable {
    /// The intensity that each bin stands for, ascending.
    private let intensities: [Double]
    /// For each bin; ascending.
    private let intensityFractions: [Double]
    /// For each bin; descending.
    private let volumeFractions: [Double]
    /// What an intensity is when no bin has so small a volume: one bin beyond the last.
    private let beyond: Double

    /// A million bins of three numbers each: more are refused as `tooManyBins`.
    private static let mostBins = 1 << 20

    /// nil when there would be too many bins.
    init?(_ region: RadiomicsRegion, _ discretisation: RadiomicsSettings.Discretisation) {
        let ranked = RankedValues(region.values())
        let lower = region.range.flatMap { $0.lowerBound.isFinite ? $0.lowerBound : nil } ?? ranked.least
        let upper = region.range.flatMap { $0.upperBound.isFinite ? $0.upperBound : nil } ?? ranked.greatest
        switch discretisation.method {
        case .identity: self.init(ranked, from: lower, to: upper)
        case .fixedBinSize: self.init(ranked, width: discretisation.binWidth, from: lower, to: upper)
        case .fixedBinNumber:
            let bins = Bins(of: region, discretisation)
            let levels = ranked.sorted.map { bins.level(Double($0)) }
            self.init(
                sorted: levels,
                bins: (1...discretisation.binCount).map(Double.init),
                width: 1,
                fractions: (1, Double(discretisation.binCount))
            )
        }
    }

    /// Definite intensities, as those of CT: a bin for every integer of the range, or for every value that occurs when
    /// they are not integers.
    private init?(_ ranked: RankedValues, from lower: Double, to upper: Double) {
        let values = ranked.sorted.map(Double.init)
        let areIntegers = values.allSatisfy { $0 == $0.rounded() } && lower == lower.rounded()
        guard areIntegers else {
            let distinct = values.indices.filter { $0 == 0 || values[$0] != values[$0 - 1] }.map { values[$0] }
            self.init(sorted: values, bins: distinct, width: 0, fractions: (lower, upper))
            return
        }
        guard upper - lower < Double(Self.mostBins) else { return nil }
        self.init(
            sorted: values,
            bins: (0...Int(upper - lower)).map { lower + Double($0) },
            width: 1,
            fractions: (lower, upper)
        )
    }

    /// Bins of a fixed width, each with the intensity at its centre.
    private init?(_ ranked: RankedValues, width: Double, from lower: Double, to upper: Double) {
        let count = ((upper - lower) / width).rounded(.up) + 1
        guard count < Double(Self.mostBins) else { return nil }
        let centres = ranked.sorted.map {
            lower + (max(0, ((Double($0) - lower) / width).rounded(.down)) + 0.5) * width
        }
        let bins = (0..<Int(count)).map { lower + (Double($0) + 0.5) * width }
        self.init(sorted: centres, bins: bins, width: width, fractions: (bins[0], bins[bins.count - 1]))
    }

    /// - Parameters:
    ///   - sorted: the bin of each voxel, ascending.
    ///   - fractions: the intensities whose fractions are 0 and 1.
    private init(sorted: [Double], bins: [Double], width: Double, fractions: (Double, Double)) {
        intensities = bins
        intensityFractions = bins.map { ($0 - fractions.0) / (fractions.1 - fractions.0) }
        var below = 0
        volumeFractions = bins.map { bin in
            // Half a bin of tolerance, because centres are computed twice.
            while below < sorted.count, sorted[below] < bin - width / 2 { below += 1 }
            return 1 - Double(below) / Double(sorted.count)
        }
        beyond = (bins.last ?? .nan) + width
    }

    /// The largest volume fraction with at least an intensity fraction.
    func volume(at fraction: Double) -> Double {
        guard let place = intensityFractions.firstIndex(where: { $0 >= fraction }) else { return .nan }
        return volumeFractions[place]
    }

    /// The least intensity with at most a volume fraction.
    func intensity(at fraction: Double) -> Double {
        guard let place = volumeFractions.firstIndex(where: { $0 <= fraction }) else { return beyond }
        return intensities[place]
    }
}
