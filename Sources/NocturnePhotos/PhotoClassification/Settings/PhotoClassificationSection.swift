import NocturneInference

/// The section `photoClassification` as written; only types have been checked.
struct PhotoClassificationSection: Decodable {
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
