import NocturneCore
import NocturneJournal
import NocturneNumerics
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneReport
import NocturneSystem

/// `result.json` of a segmentation or structure set: a function of the object, its source images and the options. It
/// contains no times and no locations.
struct ExistingLabelsResult: ItemResult {
    /// The object, with the grid of its label maps: that of the source images where they are available.
    struct Source: Codable {
        /// "segmentation", "structureSet" or "labelMap".
        let kind: String
        let name: String
        /// Voxels along i, j and k.
        let shape: [Int]
        /// Along i, j and k.
        let spacingMm: [Double]
        /// The directions in which i, j and k grow, such as LPS.
        let orientation: String
        /// Of measured intensities: ``ImageUnit``.
        let intensityUnit: String
        /// Rows of the map from voxel indices (i, j, k) to RAS+ millimetres.
        let affineRas: [[Double]]
    }

    /// The image whose intensities were measured.
    struct Image: Codable {
        let modality: String
        let files: Int
        /// Only of a PET whose intensities are SUV.
        let suv: SegmentationResult.SUV?
    }

    /// A label of the object, with its measures. Null means not measured, never 0.
    struct Label: Codable, MeasuredLabel {
        /// In the label map.
        let value: Int
        /// SegmentNumber or ROINumber.
        let number: Int
        let name: String
        let description: String
        /// For a segment AUTOMATIC, SEMIAUTOMATIC or MANUAL, for a region its interpreted type, as in the object; often empty.
        let kind: String
        /// `#rrggbb`; null if the object has none.
        @Nullable var color: String?
        @Nullable var code: CodedConcept?
        /// The label map that contains it.
        let file: String
        let status: String
        let voxelCount: Int
        @Nullable var volumeMm3: Double?
        @Nullable var volumeMl: Double?
        @Nullable var intensity: IntensitySummary?
        @Nullable var centroidRasMm: [Double]?
        @Nullable var boundingBox: SegmentationResult.Box?
        /// Null if the grid is only as large as the object.
        @Nullable var touchesBorder: Bool?
        /// Whose voxels touch at faces, edges or corners.
        let components: Int?
        /// Of the label's voxels; absent for a label that is not there.
        let largestComponentShare: Double?
        @Nullable var mesh: SegmentationResult.Mesh?

        var cutByBorder: Bool? { touchesBorder }
        /// The labels are not decided by a network of this batch.
        var confidence: LabelConfidence? { nil }
    }

    let schemaVersion: Int
    let disclaimer: String
    let task: String
    let item: String
    let fingerprint: String
    let source: Source
    /// Null if the images are not among the inputs or have another grid.
    @Nullable var image: Image?
    let options: [String: String]
    /// In the order of the object.
    let labels: [Label]
    /// The regions that apply to this item; absent where none were asked for.
    let regions: [SegmentationResult.Region]?
    /// Absent where none was asked for, or there are no intensities.
    let radiomics: RadiomicsMeasures?
    let files: [ItemFile]
    var notes: [String]
    var noteCodes: [Note.Code]?

    /// Rows for the batch's statistics table.
    var statistics: [Statistic] {
        let unit = source.intensityUnit
        return ImageUnit.spacingRows(source.spacingMm)
            + labels.flatMap { $0.statistics(intensityUnit: unit) }
            + (regions ?? []).flatMap { $0.statistics(intensityUnit: unit) } + (radiomics?.statistics(.item) ?? [])
    }
}
