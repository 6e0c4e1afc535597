import NocturneInference

extension PhotoInstancesModel.Settings {
    /// The section `photoInstances` as written; only types have been checked.
    struct Section: Decodable {
        struct Input: Decodable {
            let longSide: WholeNumber
            let multiple: WholeNumber?
            let square: Bool?
            let placement: String?
            let resampling: String?
            let minimumSide: WholeNumber?
            let mean: [Double]
            let standardDeviation: [Double]
        }

        struct Output: Decodable {
            let kind: String
            let activation: String?
            let boundary: Bool?
            let centre: Bool?
            let candidates: String?
            let prototypes: String?
            let boxes: String?
            let scores: String?
            let classes: String?
            let masks: String?
            let firstClass: WholeNumber?
        }

        struct Splitting: Decodable {
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

        struct Thresholds: Decodable {
            let score: Double?
            let boxOverlap: Double?
            let maskOverlap: Double?
            let mask: Double?
            let minimumArea: WholeNumber?
        }

        struct Class: Decodable {
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
