import NocturneInference

/// The section `volumeSegmentation` as written; only types have been checked.
struct VolumeSegmentationSection: Codable {
    let level: Level
    let previousStage: Level?
    let output: String?
    let threshold: Double?
    let inputFormat: String?
    let postprocessing: Postprocessing?
    let window: DisplayWindow?

    private enum CodingKeys: String, CodingKey {
        case previousStage, output, threshold, inputFormat, postprocessing, window
    }

    init(from decoder: any Decoder) throws {
        // The keys of the only or last level are in the section itself.
        level = try Level(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        previousStage = try container.decodeIfPresent(Level.self, forKey: .previousStage)
        output = try container.decodeIfPresent(String.self, forKey: .output)
        threshold = try container.decodeIfPresent(Double.self, forKey: .threshold)
        inputFormat = try container.decodeIfPresent(String.self, forKey: .inputFormat)
        postprocessing = try container.decodeIfPresent(Postprocessing.self, forKey: .postprocessing)
        window = try container.decodeIfPresent(DisplayWindow.self, forKey: .window)
    }

    func encode(to encoder: any Encoder) throws {
        try level.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(previousStage, forKey: .previousStage)
        try container.encodeIfPresent(output, forKey: .output)
        try container.encodeIfPresent(threshold, forKey: .threshold)
        try container.encodeIfPresent(inputFormat, forKey: .inputFormat)
        try container.encodeIfPresent(postprocessing, forKey: .postprocessing)
        try container.encodeIfPresent(window, forKey: .window)
    }

    /// The keys of one level; axes are in the order z, y, x. A missing key has the default of the page on packages.
    struct Level: Codable {
        let orientation: String?
        let orientAfterSpacing: Bool?
        let transpose: [WholeNumber]?
        let spacing: [Double]?
        let size: [WholeNumber]?
        let patchSize: [WholeNumber]
        let tileStep: Double?
        let tiling: Tiling?
        let mirroringAxes: [WholeNumber]?
        let cropToNonzero: Bool?
        let cropAbove: Double?
        let cropAfterNormalization: Bool?
        let marginMm: Double?
        let marginVoxels: WholeNumber?
        let marginShare: Double?
        let padMargin: Bool?
        let normalizeAfterResampling: Bool?
        let logitBlur: [Double]?
        let resampling: Resamplings?
        let networks: [String]
        /// For a previous level only: its own normalizations if they differ, and the labels that become channels of the
        /// next level.
        let normalizations: [ModelDocument.Normalizations]?
        let oneHotLabels: [WholeNumber]?
    }

    /// How tiles are placed, weighted and filled up.
    struct Tiling: Codable {
        let positions: String?
        let weights: String?
        let padding: String?
    }

    /// One rule each; a missing one has the defaults of nnU-Net's planner.
    struct Resamplings: Codable {
        let image: Resampling?
        let logits: Resampling?
        let labels: Resampling?
    }

    struct Resampling: Codable {
        let method: String?
        let order: WholeNumber?
        let orderZ: WholeNumber?
        let separateZ: String?
        let anisotropyThreshold: Double?
        let values: String?
    }

    /// Labels are named; volumes are in mm³.
    struct Postprocessing: Codable {
        let keepLargest: [Group]?
        let fillHoles: [String]?
        let minimumVolumeMm3: [String: Double]?
        let connectivity: WholeNumber?
        let morphology: [Morphology]?
    }

    /// `radiusMm` or `sigmaMm`, as the operation needs.
    struct Morphology: Codable {
        let operation: String
        let labels: [String]
        let radiusMm: Double?
        let sigmaMm: Double?
    }

    /// One label, or several treated as one.
    struct Group: Codable {
        let names: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let name = try? container.decode(String.self) {
                names = [name]
            } else {
                names = try container.decode([String].self)
            }
        }
    }
}

/// The section `volumeProgram` as written; only types have been checked.
struct VolumeProgramSection: Codable {
    let grid: Grid?
    let region: Region?
    let parts: [Part]
    let postprocessing: VolumeSegmentationSection.Postprocessing?
    let window: DisplayWindow?

    /// `size` or `spacing`, not both.
    struct Grid: Codable {
        let orientation: String?
        let spacing: [Double]?
        let size: [WholeNumber]?
        let resampling: Resampling?
    }

    struct Resampling: Codable {
        let method: String?
        let order: WholeNumber?
        let truncates: Bool?
    }

    /// The package that finds the region, and how its box is enlarged.
    struct Region: Codable {
        let package: String
        let grid: Grid?
        let labels: [String]?
        let marginMm: Double?
        let marginVoxels: WholeNumber?
        let marginShare: Double?
        let planeShare: Double?
        let clip: Clip?
        let grows: Bool?
        let truncates: Bool?
    }

    /// Quantiles of an image, 0...1.
    struct Clip: Codable {
        let lower: Double
        let upper: Double
    }

    /// Folders of packages, which form an ensemble if there are several.
    struct Part: Codable {
        let packages: [String]
        /// Values of the part's labels, as texts, and the program's values that they become.
        let labels: [String: WholeNumber]?
    }
}
