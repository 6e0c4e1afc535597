import NocturneInference

extension PhotoInstancesModel.Settings {
    /// The section `photoInstances` as written; only types have been checked.
    struct Section: Codable {
        /// How a photo becomes the input of the network. Sides are in pixels.
        struct Input: Codable {
            let longSide: WholeNumber
            let multiple: WholeNumber?
            let square: Bool?
            let placement: String?
            let resampling: String?
            let minimumSide: WholeNumber?
            let mean: [Double]
            let standardDeviation: [Double]
        }

        /// Which members are needed depends on `kind`: `maps`, `masks-boxes` or `masks`.
        struct Output: Codable {
            let kind: String
            let activation: String?
            let boundary: Bool?
            let centre: Bool?
            // Names of the network's outputs, from here to `masks`.
            let candidates: String?
            let prototypes: String?
            let boxes: String?
            let scores: String?
            let classes: String?
            let masks: String?
            /// The number of the first class: 1, the default, where 0 is the background.
            let firstClass: WholeNumber?
        }

        /// For `maps` only; a missing member has the default of `InstanceSplitter.Rules`.
        struct Splitting: Codable {
            let foregroundThreshold: Double?
            let backgroundThreshold: Double?
            let seedThreshold: Double?
            let boundaryWeight: Double?
            let minimumSeedArea: WholeNumber?
            let minimumArea: WholeNumber?
            let mergeBoundary: Double?
            let minimumContact: WholeNumber?
            let minimumAreaShareOfMedian: Double?
            let minimumClearShare: Double?
        }

        /// For `masks-boxes` and `masks`; a missing member has the default of `DetectionDecoder.Rules`.
        struct Thresholds: Codable {
            let score: Double?
            let boxOverlap: Double?
            let maskOverlap: Double?
            let mask: Double?
            let minimumArea: WholeNumber?
        }

        /// The name becomes a part of names of files; the colour is `#rrggbb`.
        struct Class: Codable {
            let name: String
            let color: String
        }

        let network: String
        let input: Input
        let output: Output
        let splitting: Splitting?
        let thresholds: Thresholds?
        let classes: [Class]
        let maxInstances: WholeNumber?
    }
}
