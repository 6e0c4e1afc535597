import NocturneJournal
import NocturnePostprocess
import NocturneSystem

extension SegmentationResult {
    /// The comparison with reference labels.
    struct Comparison: Codable {
        /// Null where a measure has no value, such as a distance to a label that is not there.
        struct Label: Codable {
            let value: Int
            let name: String
            let voxelCount: Int
            let referenceVoxelCount: Int
            @Nullable var dice: Double?
            @Nullable var meanSurfaceDistanceMm: Double?
            @Nullable var hausdorff95Mm: Double?
            @Nullable var hausdorffMm: Double?
            @Nullable var surfaceDice: Double?
            /// The volume minus the reference's, in ml; absent in results of earlier versions.
            let volumeDifferenceMl: Double?
            /// The same divided by the reference's volume; absent where that is 0.
            let relativeVolumeDifference: Double?
            /// Why there are no distances although both volumes have the label.
            @Nullable var problem: String?
        }

        /// The path of the reference relative to the folder given.
        let reference: String
        /// For the surface Dice coefficients.
        let toleranceMm: Double
        let labels: [Label]

        /// Rows for the batch's statistics table.
        var statistics: [Statistic] { labels.flatMap(\.statistics) }
    }
}

extension SegmentationResult.Comparison.Label {
    /// - Parameter voxelVolume: in mm³.
    init(_ compared: LabelComparison, name: String, voxelVolume: Double) {
        func rounded(_ value: Double?) -> Double? { value?.roundedForResults() }
        let difference = Double(compared.voxelCount - compared.referenceVoxelCount)
        let reference = Double(compared.referenceVoxelCount)
        self.init(
            value: Int(compared.value),
            name: name,
            voxelCount: compared.voxelCount,
            referenceVoxelCount: compared.referenceVoxelCount,
            dice: rounded(compared.dice),
            meanSurfaceDistanceMm: rounded(compared.distances?.mean),
            hausdorff95Mm: rounded(compared.distances?.hausdorff95),
            hausdorffMm: rounded(compared.distances?.hausdorff),
            surfaceDice: rounded(compared.surfaceDice),
            volumeDifferenceMl: rounded(difference * voxelVolume / 1000),
            relativeVolumeDifference: reference > 0 ? rounded(difference / reference) : nil,
            problem: compared.problem
        )
    }

    /// The measures of agreement.
    var statistics: [Statistic] {
        [
            Statistic(label: name, measure: "dice", value: dice, unit: "1"),
            Statistic(label: name, measure: "meanSurfaceDistance", value: meanSurfaceDistanceMm, unit: "mm"),
            Statistic(label: name, measure: "hausdorff95", value: hausdorff95Mm, unit: "mm"),
            Statistic(label: name, measure: "hausdorff", value: hausdorffMm, unit: "mm"),
            Statistic(label: name, measure: "surfaceDice", value: surfaceDice, unit: "1"),
        ] + volumeStatistics
    }

    /// None in results of earlier versions.
    private var volumeStatistics: [Statistic] {
        guard let volumeDifferenceMl else { return [] }
        return [
            Statistic(label: name, measure: "volumeDifference", value: volumeDifferenceMl, unit: "ml"),
            Statistic(label: name, measure: "relativeVolumeDifference", value: relativeVolumeDifference, unit: "1"),
        ]
    }
}
