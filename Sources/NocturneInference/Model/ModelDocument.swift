import NocturneCore

/// The part of `model.json` common to all tasks, of which only the types have been checked. Unknown keys are ignored,
/// and so are the sections of tasks, which ``ModelPackage/section(_:as:)`` decodes.
package struct ModelDocument: Decodable {
    struct File: Decodable {
        let path: String
        let sha256: String
        let bytes: WholeNumber
    }

    struct Channel: Decodable {
        let name: String
        let normalization: Normalizations
    }

    /// One normalisation, or a list of them in a row.
    package struct Normalizations: Decodable {
        let steps: [Normalization]
        let isList: Bool

        package init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            isList = (try? decoder.unkeyedContainer()) != nil
            steps = isList ? try container.decode([Normalization].self) : [try container.decode(Normalization.self)]
        }
    }

    package struct Normalization: Decodable {
        let scheme: String
        let lowerBound: Double?
        let upperBound: Double?
        let mean: Double?
        let standardDeviation: Double?
        let useMask: Bool?
        let nonzero: Bool?
        let lower: Double?
        let upper: Double?
        let countPadding: Bool?
        let clip: Bool?
    }

    struct Label: Decodable {
        let value: WholeNumber
        let name: String
        let color: String
        let title: String?
        let code: CodedConcept?
        let expected: Bool?
    }

    /// Read before the rest, so that a newer schema is reported as such and not as a missing key.
    struct Version: Decodable {
        let schemaVersion: WholeNumber
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
    let source: ModelSource?
    let demonstration: Bool?
}

/// An integer whose decoding error names its key: for 1.5 Foundation's decoder names none.
package struct WholeNumber: Decodable {
    package let value: Int

    package init(from decoder: any Decoder) throws {
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
