import NocturneCore

/// The part of `model.json` common to all tasks, of which only the types have been checked. Sections of tasks are decoded by
/// ``ModelPackage/section(_:as:)``. All of these types are encoded again to find keys that none of them has.
package struct ModelDocument: Codable {
    /// A file that the package contains.
    struct File: Codable {
        let path: String
        let sha256: String
        let bytes: WholeNumber
    }

    /// An input channel of the network.
    struct Channel: Codable {
        let name: String
        let normalization: Normalizations
    }

    /// One normalisation, or a list of them in a row.
    package struct Normalizations: Codable {
        let steps: [Normalization]
        let isList: Bool

        /// A list is recognised by its form; errors of its entries then name their index.
        package init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            isList = (try? decoder.unkeyedContainer()) != nil
            steps = isList ? try container.decode([Normalization].self) : [try container.decode(Normalization.self)]
        }

        package func encode(to encoder: any Encoder) throws {
            if isList { try steps.encode(to: encoder) } else { try steps[0].encode(to: encoder) }
        }
    }

    /// All values of all schemes. Which of them a scheme needs and allows is checked later; see ``ModelValidation``.
    package struct Normalization: Codable {
        /// One of ct, linear, zScore, rescale, rescale01, rgb01, quantiles, none.
        let scheme: String
        /// For ct, where values are clamped to; for rescale, the value that the smallest one becomes.
        let lowerBound: Double?
        /// The other end; more than ``lowerBound``.
        let upperBound: Double?
        /// For ct and linear.
        let mean: Double?
        /// For ct and linear; above 0.
        let standardDeviation: Double?
        /// For zScore: the voxels that are not 0 in some channel, and the holes in them.
        let useMask: Bool?
        /// For zScore: the voxels that are not 0 in this channel.
        let nonzero: Bool?
        /// For quantiles: a share of the voxels, from 0 to 1.
        let lower: Double?
        /// For quantiles: more than ``lower``, at most 1.
        let upper: Double?
        /// For quantiles: the padding counts as voxels of the lowest value.
        let countPadding: Bool?
        /// For quantiles: values are clamped to the quantiles.
        let clip: Bool?
    }

    /// A structure that the network segments.
    struct Label: Codable {
        let value: WholeNumber
        let name: String
        let color: String
        let title: String?
        let code: CodedConcept?
        /// See ``ModelLabel/isExpected``.
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
package struct WholeNumber: Codable {
    /// Any integer of 64 bits; limits are checked where it is used.
    package let value: Int

    /// - Throws: `DecodingError.typeMismatch`, which contains the number that was found.
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
