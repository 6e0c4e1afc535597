import NocturneInference

/// The section `volumeSegmentation` as written; only types have been checked.
struct VolumeSegmentationSection: Decodable {
    let level: Level
    let previousStage: Level?
    let output: String?
    let inputFormat: String?
    let postprocessing: Postprocessing?
    let window: Window?

    private enum CodingKeys: String, CodingKey { case previousStage, output, inputFormat, postprocessing, window }

    init(from decoder: any Decoder) throws {
        // The keys of the only or last level are in the section itself.
        level = try Level(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        previousStage = try container.decodeIfPresent(Level.self, forKey: .previousStage)
        output = try container.decodeIfPresent(String.self, forKey: .output)
        inputFormat = try container.decodeIfPresent(String.self, forKey: .inputFormat)
        postprocessing = try container.decodeIfPresent(Postprocessing.self, forKey: .postprocessing)
        window = try container.decodeIfPresent(Window.self, forKey: .window)
    }

    struct Window: Decodable {
        let center: Double
        let width: Double
    }

    struct Level: Decodable {
        let orientation: String?
        let transpose: [WholeNumber]?
        let spacing: [Double]?
        let patchSize: [WholeNumber]
        let tileStep: Double?
        let tiling: Tiling?
        let mirroringAxes: [WholeNumber]?
        let cropToNonzero: Bool?
        let normalizeAfterResampling: Bool?
        let resampling: Resamplings?
        let networks: [String]
        /// For a previous level only: its own normalizations if they differ, and the labels that become channels of the
        /// next level.
        let normalizations: [ModelDocument.Normalization]?
        let oneHotLabels: [WholeNumber]?
    }

    struct Tiling: Decodable {
        let positions: String?
        let weights: String?
        let padding: String?
    }

    struct Resamplings: Decodable {
        let image: Resampling?
        let logits: Resampling?
        let labels: Resampling?
    }

    struct Resampling: Decodable {
        let method: String?
        let order: WholeNumber?
        let orderZ: WholeNumber?
        let separateZ: String?
        let anisotropyThreshold: Double?
        let values: String?
    }

    struct Postprocessing: Decodable {
        let keepLargest: [Group]?
        let fillHoles: [String]?
        let minimumVolumeMm3: [String: Double]?
        let connectivity: WholeNumber?
        let morphology: [Morphology]?
    }

    struct Morphology: Decodable {
        let operation: String
        let labels: [String]
        let radiusMm: Double?
        let sigmaMm: Double?
    }

    /// One label, or several treated as one.
    struct Group: Decodable {
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
