import NocturneJournal
import NocturnePostprocess
import NocturneSystem

/// Regions, and types shared with labels.
extension SegmentationResult {
    /// A region of interest with its measures. Null means not measured, or without meaning for the kind.
    struct Region: Codable {
        let name: String
        let kind: String
        let status: String
        @Nullable var lengthMm: Double?
        @Nullable var angleDegrees: Double?
        /// The area of the shape itself.
        @Nullable var areaMm2: Double?
        /// The volume of the shape itself.
        @Nullable var volumeMm3: Double?
        /// Voxels whose centres lie inside, or samples of an oblique plane.
        @Nullable var sampleCount: Int?
        /// Of the samples: their number times the area of each.
        @Nullable var sampledAreaMm2: Double?
        /// Of the samples: their number times the volume of each.
        @Nullable var sampledVolumeMm3: Double?
        /// Of a flat region in a slice of the grid.
        @Nullable var slice: Slice?
        /// Of a region in an oblique plane.
        @Nullable var sampleSpacingMm: Double?
        @Nullable var intensity: IntensitySummary?
    }

    /// A slice of the grid.
    struct Slice: Codable {
        /// `i`, `j` or `k`: the axis across which the slice lies.
        let axis: String
        /// From 0.
        let index: Int
    }
}

extension IntensitySummary {
    /// With mean and standard deviation rounded, as results state them.
    var rounded: IntensitySummary {
        var summary = self
        let scale = max(abs(minimum), abs(maximum))
        summary.mean = mean.roundedForResults(scale: scale)
        summary.standardDeviation = standardDeviation.roundedForResults(scale: scale)
        return summary
    }
}

extension SegmentationResult.Region {
    init(_ measured: RegionMeasurement) {
        func rounded(_ value: Double?) -> Double? { value?.roundedForResults() }
        self.init(
            name: measured.name,
            kind: measured.kind,
            status: measured.status.rawValue,
            lengthMm: rounded(measured.length),
            angleDegrees: rounded(measured.angle),
            areaMm2: rounded(measured.area),
            volumeMm3: rounded(measured.volume),
            sampleCount: measured.sampleCount,
            sampledAreaMm2: rounded(measured.sampledArea),
            sampledVolumeMm3: rounded(measured.sampledVolume),
            slice: measured.sliceAxis.flatMap { axis in
                measured.sliceIndex.map { .init(axis: ["i", "j", "k"][axis], index: $0) }
            },
            sampleSpacingMm: measured.sampleSpacing,
            intensity: measured.intensity?.rounded
        )
    }

    /// Rows for the batch's statistics table: the measures that have a meaning for the kind. The name marks it as a
    /// region, to distinguish it from labels.
    func statistics(intensityUnit: String) -> [Statistic] {
        let label = Statistic.regionPrefix + name
        func row(_ measure: String, _ value: Double?, _ unit: String) -> Statistic {
            Statistic(label: label, measure: measure, value: value, unit: unit)
        }
        switch kind {
        case "length": return [row("length", lengthMm, "mm")]
        case "angle": return [row("angle", angleDegrees, "degree")]
        default: break
        }
        let size =
            kind == "sphere" || kind == "box"
            ? [row("volume", volumeMm3, "mm3"), row("sampledVolume", sampledVolumeMm3, "mm3")]
            : [row("area", areaMm2, "mm2"), row("sampledArea", sampledAreaMm2, "mm2")]
        return size + [
            row("sampleCount", sampleCount.map(Double.init), "1")
        ] + IntensitySummary.statistics(intensity, of: label, in: intensityUnit)
    }
}
