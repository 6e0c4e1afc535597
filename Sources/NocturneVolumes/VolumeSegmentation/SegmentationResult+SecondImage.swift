import NocturneCore
import NocturneJournal
import NocturnePostprocess
import NocturneReport
import NocturneSystem

extension SegmentationResult {
    /// The image of `--measure`.
    struct SecondImage: Codable {
        /// Its path relative to the folder given.
        let name: String
        /// The name of the format, such as `dicom`.
        let format: String
        @Nullable var modality: String?
        /// Of its measured intensities: ``ImageUnit``.
        let intensityUnit: String
        /// Only of a PET whose intensities are SUV.
        let suv: SUV?
        /// Voxels along i, j and k.
        let shape: [Int]
        /// Along i, j and k.
        let spacingMm: [Double]
        /// The directions in which i, j and k grow.
        let orientation: String
        /// Absent where none was asked for.
        let radiomics: RadiomicsMeasures?

        /// - Parameter name: as results show it.
        init(_ image: VolumeSource, name: String, in unit: MeasuredUnit, radiomics: RadiomicsMeasures?) {
            let geometry = image.geometry
            self.name = name
            format = image.format.rawValue
            modality = image.modality
            intensityUnit = unit.name
            suv = unit.suv.map(SUV.init)
            shape = [geometry.shape.x, geometry.shape.y, geometry.shape.z]
            spacingMm = [geometry.spacing.x, geometry.spacing.y, geometry.spacing.z]
            orientation = geometry.orientationCode
            self.radiomics = radiomics
        }
    }

    /// A label on the voxels of the second image; everything is null where that lies outside the label map.
    struct SecondMeasurement: Codable {
        @Nullable var voxelCount: Int?
        @Nullable var volumeMl: Double?
        @Nullable var intensity: IntensitySummary?

        init(_ measured: LabelMeasurement?) {
            voxelCount = measured?.voxelCount
            volumeMl = measured.map { $0.volumeMl.roundedForResults(scale: $0.volumeMl) }
            intensity = measured?.intensity?.rounded
        }
    }

    /// Rows for the batch's statistics table.
    var secondImageStatistics: [Statistic] {
        guard let secondImage else { return [] }
        let unit = secondImage.intensityUnit
        let features = secondImage.radiomics?.statistics(.second) ?? []
        return features
            + labels.flatMap { label -> [Statistic] in
                guard let second = label.secondImage else { return [] }
                func row(_ measure: String, _ value: Double?, _ unit: String) -> Statistic {
                    Statistic(label: label.name, measure: "secondImage" + measure, value: value, unit: unit)
                }
                let intensity = second.intensity
                return [
                    row("VoxelCount", second.voxelCount.map(Double.init), "1"),
                    row("Volume", second.volumeMl, "ml"),
                    row("Mean", intensity?.mean, unit),
                    row("StandardDeviation", intensity?.standardDeviation, unit),
                    row("Minimum", intensity?.minimum, unit),
                    row("Maximum", intensity?.maximum, unit),
                    row("Median", intensity?.median, unit),
                ]
            }
    }
}
