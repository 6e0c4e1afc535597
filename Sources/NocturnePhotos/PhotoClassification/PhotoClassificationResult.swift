import NocturneBatch
import NocturneInference
package import NocturneJournal
package import NocturneRecipeSupport
package import NocturneSystem

/// `result.json` of a classified photo: a function of input, model and options only. It contains no times and no
/// locations, and about the people only the metadata given to the model.
package struct PhotoClassificationResult: ItemResult, Sendable {
    package struct Source: Codable, Sendable {
        package let format: String
        package let name: String
        /// As stored in the file.
        package let widthPx: Int
        package let heightPx: Int
        /// The Exif tag, 1 to 8; already applied.
        package let orientation: Int
        package let colorModel: String
        package let bitDepth: Int
        /// Each processed pixel stands for n × n stored ones.
        package let scaleDenominator: Int
    }

    package struct Class: Codable, Sendable {
        package let name: String
        package let title: String
        package let color: String
        package let malignant: Bool
        package let probability: Double
    }

    package struct Risk: Codable, Sendable {
        package struct Reason: Codable, Sendable {
            package let name: String
            package let probability: Double
            package let threshold: Double
        }

        package let level: RiskLevel
        package let words: String
        package let reasons: [Reason]
    }

    package struct Metadata: Codable, Sendable {
        @Nullable package var ageYears: Double?
        package let sex: String
        package let site: String
        /// The classifier's metadata input.
        package let vector: [Float]
    }

    package struct Preparation: Codable, Sendable {
        package struct Square: Codable, Sendable {
            package let x: Int
            package let y: Int
            package let side: Int
        }

        /// The part of the upright picture that was given to the model.
        package let squarePx: Square
        package let inputSizePx: Int
        /// "applied", "notAsked", or why the colours were not corrected: "flat", "nearBlack".
        package let colorConstancy: String
        /// The factors of red, green and blue.
        @Nullable package var gains: [Double]?
    }

    package struct Attention: Codable, Sendable {
        /// The class that the map explains.
        package let name: String
        package let width: Int
        package let height: Int
        package let minimum: Float
        package let maximum: Float
        package let isUniform: Bool
        /// The overlay and the values.
        package let overlayFile: String
        package let valuesFile: String
    }

    package let schemaVersion: Int
    package let task: String
    package let disclaimer: String
    package let item: String
    package let fingerprint: String
    package let source: Source
    package let model: ResultModel
    package let engine: ResultEngine
    package let options: [String: String]
    package let summary: String
    /// The name of the class with the highest score.
    package let leading: String
    package let isUncertain: Bool
    /// In the model's order.
    package let classes: [Class]
    @Nullable package var risk: Risk?
    @Nullable package var metadata: Metadata?
    package let preparation: Preparation
    @Nullable package var attention: Attention?
    package let files: [ItemFile]
    package var notes: [String]

    /// The highest score first; equal ones in the model's order.
    package var ranked: [Class] {
        classes.enumerated().sorted { ($0.element.probability, $1.offset) > ($1.element.probability, $0.offset) }
            .map(\.element)
    }

    /// A reviewer looks at the picture as a whole.
    package var parts: [ItemPart] {
        [ItemPart(id: 1, kind: leading, state: .ready, thumbnail: ClassificationWriter.thumbnailFile)]
    }

    /// Rows for the batch's statistics table.
    package var statistics: [Statistic] {
        let scores = classes.map { Statistic(label: $0.name, measure: "probability", value: $0.probability, unit: "1") }
        guard let risk else { return scores }
        let level = Double(RiskLevel.allCases.firstIndex(of: risk.level) ?? 0)
        return scores + [
            Statistic(label: "risk", measure: "level (0 low, 1 moderate, 2 high)", value: level, unit: "1")
        ]
    }
}

/// `attention.json`: the map's own values.
package struct AttentionValues: Codable, Sendable {
    package let name: String
    package let width: Int
    package let height: Int
    /// Rows from the top of the square picture.
    package let rows: [[Float]]
}
