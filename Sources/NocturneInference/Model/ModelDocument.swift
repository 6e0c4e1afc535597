/// `model.json` as it is written, before anything is checked but types. Unknown keys are passed over.
struct ModelDocument: Decodable {
    struct File: Decodable {
        let path: String
        let sha256: String
        let bytes: WholeNumber
    }

    struct Channel: Decodable {
        let name: String
        let normalization: Normalization
    }

    struct Normalization: Decodable {
        let scheme: String
        let lowerBound: Double?
        let upperBound: Double?
        let mean: Double?
        let standardDeviation: Double?
        let useMask: Bool?
    }

    struct Label: Decodable {
        let value: WholeNumber
        let name: String
        let color: String
        let code: Code?
    }

    struct Code: Decodable {
        let scheme: String
        let value: String
        let meaning: String
    }

    struct VolumeSegmentation: Decodable {
        let stage: Stage
        let previousStage: Stage?
        let output: String?
        let postprocessing: Postprocessing?
        let window: Window?

        private enum CodingKeys: String, CodingKey { case previousStage, output, postprocessing, window }

        init(from decoder: any Decoder) throws {
            // The keys of the one or last stage stand beside these.
            stage = try Stage(from: decoder)
            let container = try decoder.container(keyedBy: CodingKeys.self)
            previousStage = try container.decodeIfPresent(Stage.self, forKey: .previousStage)
            output = try container.decodeIfPresent(String.self, forKey: .output)
            postprocessing = try container.decodeIfPresent(Postprocessing.self, forKey: .postprocessing)
            window = try container.decodeIfPresent(Window.self, forKey: .window)
        }
    }

    struct Window: Decodable {
        let center: Double
        let width: Double
    }

    struct Stage: Decodable {
        let orientation: String?
        let transpose: [WholeNumber]?
        let spacing: [Double]?
        let patchSize: [WholeNumber]
        let tileStep: Double?
        let mirroringAxes: [WholeNumber]?
        let cropToNonzero: Bool?
        let resampling: Resamplings?
        let networks: [String]
        /// In a previous stage only: its own, where they differ, and the labels that become channels of the next one.
        let normalizations: [Normalization]?
        let oneHotLabels: [WholeNumber]?
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
    }

    struct Postprocessing: Decodable {
        let keepLargest: [Group]?
        let fillHoles: [String]?
        let minimumVolumeMm3: [String: Double]?
        let connectivity: WholeNumber?
    }

    /// A label, or several that are seen as one.
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

    struct PhotoClassification: Decodable {
        struct Class: Decodable {
            let name: String
            let title: String?
            let malignant: Bool?
            let color: String
        }

        struct Risk: Decodable {
            let highClasses: [String]
            let highThreshold: Double
            let moderateThreshold: Double
        }

        struct Metadata: Decodable { let sites: [String] }

        struct Networks: Decodable {
            let classifier: String
            let attention: String?
        }

        let inputSize: WholeNumber
        let minimumSide: WholeNumber?
        let mean: [Double]
        let standardDeviation: [Double]
        let colorConstancyPower: Double?
        let medical: Bool?
        let output: String?
        let classes: [Class]
        let risk: Risk?
        let lowConfidence: Double?
        let minimumLead: Double?
        let metadata: Metadata?
        let networks: Networks
    }

    let id: String
    let name: String
    let description: String?
    let version: String
    let licence: String
    let task: String
    let files: [File]
    let modalities: [String]?
    let channels: [Channel]?
    let labels: [Label]?
    let volumeSegmentation: VolumeSegmentation?
    let photoClassification: PhotoClassification?
    let photoInstances: PhotoInstances?
}

/// Read before the rest, so that a newer schema is named as such and not as a missing key.
struct ModelSchemaVersion: Decodable {
    let schemaVersion: WholeNumber
}

/// An integer whose refusal names its key: for 1.5 the decoder of Foundation names none.
struct WholeNumber: Decodable {
    let value: Int

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Int.self) {
            self.value = value
            return
        }
        let found = (try? container.decode(Double.self)).map { "\($0)" } ?? "something else"
        throw DecodingError.typeMismatch(
            Int.self,
            DecodingError.Context(codingPath: container.codingPath, debugDescription: found)
        )
    }
}
