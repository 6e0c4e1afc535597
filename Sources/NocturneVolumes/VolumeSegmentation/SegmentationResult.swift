import NocturneCore
import NocturneJournal
import NocturneNumerics
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneReport
import NocturneSystem

/// `result.json` of a segmented volume: a function of input, model and options only. It contains no times and no
/// locations.
struct SegmentationResult: ItemResult {
    /// The volume, as ``VolumeSource`` has it; no location outside the inputs.
    struct Source: Codable {
        let format: String
        let name: String
        let files: Int
        @Nullable var modality: String?
        /// Of measured intensities: ``ImageUnit``.
        let intensityUnit: String
        /// Only of a PET whose intensities are SUV.
        let suv: SUV?
        /// Voxels along i, j and k.
        let shape: [Int]
        /// Along i, j and k.
        let spacingMm: [Double]
        /// The directions in which i, j and k grow, such as LPS.
        let orientation: String
        /// Rows of the map from voxel indices (i, j, k) to RAS+ millimetres.
        let affineRas: [[Double]]
        /// Only of a volume in a file with several.
        let timePoint: VolumeSource.TimePoint?
    }

    /// A box in stored voxels.
    struct Box: Codable {
        /// First and last voxel index, both inclusive.
        let lower: [Int]
        let upper: [Int]
    }

    /// A surface of a label.
    struct Mesh: Codable {
        let file: String
        /// The node in the scene; nil if the file holds only this surface.
        let node: String?
        /// `LPS` or `RAS`.
        let frame: String
        let triangles: Int
        let areaMm2: Double
        let volumeMm3: Double
    }

    /// A label of the model, with its measures. Null means not measured, never 0.
    struct Label: Codable, MeasuredLabel {
        let value: Int
        let name: String
        /// For people; absent where it is the name.
        let title: String?
        let color: String
        @Nullable var code: CodedConcept?
        let status: String
        let voxelCount: Int
        @Nullable var volumeMm3: Double?
        @Nullable var volumeMl: Double?
        @Nullable var intensity: IntensitySummary?
        @Nullable var centroidRasMm: [Double]?
        @Nullable var boundingBox: Box?
        let touchesBorder: Bool
        /// Whose voxels touch at faces, edges or corners.
        let components: Int?
        /// Of the label's voxels; absent for a label that is not there.
        let largestComponentShare: Double?
        /// Absent where no network has decided: edited labels, labels that are not there.
        let confidence: LabelConfidence?
        /// The map of the label's probability; absent unless it was asked for.
        let probabilityFile: String?
        /// What the rules of the package have changed. Its morphology is absent in results of versions without such rules.
        @Nullable var cleaning: LabelCleaning?
        @Nullable var mesh: Mesh?
        /// On the voxels of the second image; absent where none was measured.
        let secondImage: SecondMeasurement?

        var cutByBorder: Bool? { voxelCount > 0 ? touchesBorder : nil }
    }

    /// The labels of a person.
    struct Edit: Codable {
        /// The name of the person's file, where names are kept as they are; otherwise that of its copy in the batch.
        let file: String
        /// Of the person's file, hexadecimal.
        let sha256: String
        /// The model's labels, next to the edited ones.
        let original: String
    }

    let schemaVersion: Int
    let disclaimer: String
    let item: String
    let fingerprint: String
    /// Of everything that the label map depends on; absent in results with edited labels.
    let labelsFingerprint: String?
    let source: Source
    let model: ResultModel
    let engine: ResultEngine
    let options: [String: String]
    /// Only in a result whose labels a person has edited.
    let edited: Edit?
    let labels: [Label]
    /// The regions that apply to this item.
    let regions: [Region]
    @Nullable var comparison: Comparison?
    /// Absent where none was measured.
    let secondImage: SecondImage?
    /// Absent where none was asked for.
    let radiomics: RadiomicsMeasures?
    let files: [ItemFile]
    var notes: [String]
    var noteCodes: [Note.Code]?

    /// Rows for the batch's statistics table.
    var statistics: [Statistic] {
        let unit = source.intensityUnit
        return source.timeRows + ImageUnit.spacingRows(source.spacingMm)
            + labels.flatMap { $0.statistics(intensityUnit: unit) }
            + regions.flatMap { $0.statistics(intensityUnit: unit) } + secondImageStatistics
            + (comparison?.statistics ?? []) + (radiomics?.statistics(.item) ?? [])
    }
}

extension SegmentationResult.Source {
    /// A volume as results describe it.
    /// - Parameter unit: of its measured intensities; nil for that of its modality.
    init(_ source: VolumeSource, unit: MeasuredUnit? = nil) {
        let geometry = source.geometry
        let spacing = geometry.spacing
        self.init(
            format: source.format.rawValue,
            name: source.name,
            files: source.files.count,
            modality: source.modality,
            intensityUnit: unit?.name ?? ImageUnit.name(of: source),
            suv: unit?.suv.map(SegmentationResult.SUV.init),
            shape: [geometry.shape.x, geometry.shape.y, geometry.shape.z],
            spacingMm: [spacing.x, spacing.y, spacing.z],
            orientation: geometry.orientationCode,
            affineRas: Array(geometry.affine.rows.prefix(3)),
            timePoint: source.timePoint
        )
    }
}

extension SegmentationResult.Box {
    init(_ box: VoxelBox) {
        self.init(
            lower: [box.lower.x, box.lower.y, box.lower.z],
            upper: [box.upper.x - 1, box.upper.y - 1, box.upper.z - 1]
        )
    }
}

extension SegmentationResult {
    /// Alternative texts of the pictures of a volume.
    static var pictureTitles: KeyValuePairs<String, String> {
        PictureFiles.titles(
            preview: "Three slices with the labels, projections of the volume, and the labels' surfaces",
            labels: true
        )
    }
}

extension SegmentationResult {
    /// What the page shows of a result. It is read of every item of a batch, so nothing else of the file is decoded.
    struct Shown: Decodable {
        struct Label: Decodable {
            let value: Int
            let name: String
            let color: String
            let mesh: Mesh?
            let voxelCount: Int
            let volumeMl: Double?
        }

        struct Edit: Decodable {}

        let options: [String: String]
        let edited: Edit?
        let labels: [Label]
        let files: [ItemFile]
    }
}

extension SegmentationResult.Mesh {
    /// The file, if it holds this surface alone and the page can show it.
    var reviewFile: String? { node == nil && file.hasSuffix(".stl") ? file : nil }
}
