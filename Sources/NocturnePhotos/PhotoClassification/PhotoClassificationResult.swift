import NocturneFormats
package import NocturneJournal
package import NocturneRecipeSupport
package import NocturneSystem

/// `result.json` of a classified photo: a function of input, model and options only. It contains no times and no
/// locations, and about the people only the metadata given to the model.
package struct PhotoClassificationResult: ItemResult, Sendable {
    /// The photo, as its header describes it.
    package struct Source: Codable, Sendable {
        /// The name of the format, such as `jpeg`.
        package let format: String
        /// The path relative to the input as given, as the identifier policy allows.
        package let name: String
        /// As stored in the file.
        package let widthPx: Int
        /// Rows, as stored in the file.
        package let heightPx: Int
        /// The Exif tag, 1 to 8; already applied.
        package let orientation: Int
        /// The name of the colour model, such as `rgb`.
        package let colorModel: String
        /// Bits a sample, as stored.
        package let bitDepth: Int
        /// Each processed pixel stands for n × n stored ones.
        package let scaleDenominator: Int
    }

    /// A class of the model with its score.
    package struct Class: Codable, Sendable {
        /// The name in the package.
        package let name: String
        /// For display.
        package let title: String
        /// `#rrggbb`.
        package let color: String
        /// Whether the package marks the class as malignant.
        package let malignant: Bool
        /// 0...1, rounded to six decimal places.
        package let probability: Double
    }

    /// The level of urgency, and why.
    package struct Risk: Codable, Sendable {
        /// A class whose score reached a threshold.
        package struct Reason: Codable, Sendable {
            /// The name of the class.
            package let name: String
            /// 0...1.
            package let probability: Double
            /// That of the package, 0...1.
            package let threshold: Double
        }

        /// The urgency of a result, in ascending order.
        package enum Level: String, Sendable, Codable, CaseIterable, Comparable {
            case low, moderate, high

            /// From 0 for low to 2 for high.
            var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

            /// By urgency: low before high.
            package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }
        }

        /// Above it, the score of a class of high risk is a reason not to wait.
        static let urgentScore = 0.95

        /// The highest level that a class reaches.
        package let level: Level
        /// The level in words, without a diagnosis.
        package let words: String
        /// In the order of classes; empty for a low level.
        package let reasons: [Reason]

        /// The highest level that any class reaches. A score equal to a threshold reaches it.
        /// - Parameter probabilities: one per class.
        package init(
            _ probabilities: [Double],
            classes: [PhotoClassificationModel.Settings.Class],
            settings: PhotoClassificationModel.Settings.Risk
        ) {
            func reached(
                _ threshold: Double,
                _ counts: (PhotoClassificationModel.Settings.Class) -> Bool
            ) -> [Reason] {
                zip(classes, probabilities).filter { counts($0) && $1 >= threshold }
                    .map { Reason(name: $0.name, probability: $1, threshold: threshold) }
            }
            let high = reached(settings.highThreshold) { settings.highClasses.contains($0.name) }
            let moderate = reached(settings.moderateThreshold, \.isMalignant)
            level = !high.isEmpty ? .high : !moderate.isEmpty ? .moderate : .low
            reasons = !high.isEmpty ? high : moderate
            words = ReportText.risk(level, isUrgent: reasons.contains { $0.probability > Self.urgentScore })
        }
    }

    /// The metadata of the person that the model was given.
    package struct Metadata: Codable, Sendable {
        /// In years; null if unknown.
        @Nullable package var ageYears: Double?
        /// `male`, `female` or `unknown`.
        package let sex: String
        /// One of the sites of the package.
        package let site: String
        /// The classifier's metadata input.
        package let vector: [Float]
    }

    /// How the photo became the input of the model.
    package struct Preparation: Codable, Sendable {
        /// A square of pixels of the upright picture.
        package struct Square: Codable, Sendable {
            /// The left column.
            package let x: Int
            /// The upper row.
            package let y: Int
            /// In pixels.
            package let side: Int
        }

        /// The part of the upright picture that was given to the model; null for the whole picture, stretched.
        @Nullable package var squarePx: Square?
        /// The side of the input of the model, in pixels.
        package let inputSizePx: Int
        /// "applied", "notAsked", or why the colours were not corrected: "flat", "nearBlack".
        package let colorConstancy: String
        /// The factors of red, green and blue.
        @Nullable package var gains: [Double]?
    }

    /// The attention map of the class with the highest score.
    package struct Attention: Codable, Sendable {
        /// The class that the map explains.
        package let name: String
        /// Columns of the map.
        package let width: Int
        /// Rows of the map.
        package let height: Int
        /// The smallest value.
        package let minimum: Float
        /// The largest value.
        package let maximum: Float
        /// Whether no place stands out.
        package let isUniform: Bool
        /// The overlay and the values.
        package let overlayFile: String
        /// `attention.json`.
        package let valuesFile: String
    }

    /// 1.
    package let schemaVersion: Int
    /// The task of the package.
    package let task: String
    /// What every result for a person begins with.
    package let disclaimer: String
    /// The name of the item.
    package let item: String
    /// What the result was made from and how.
    package let fingerprint: String
    /// The photo.
    package let source: Source
    /// The package.
    package let model: ResultModel
    /// What ran the networks.
    package let engine: ResultEngine
    /// By name; options with their defaults are left out.
    package let options: [String: String]
    /// One sentence about the leading class.
    package let summary: String
    /// The name of the class with the highest score.
    package let leading: String
    /// Whether no class reaches the threshold of the package, or leads by the required margin.
    package let isUncertain: Bool
    /// In the model's order.
    package let classes: [Class]
    /// Null for a package without risks.
    @Nullable package var risk: Risk?
    /// Null for a package without metadata.
    @Nullable package var metadata: Metadata?
    /// How the photo was prepared.
    package let preparation: Preparation
    /// Null for a package without an attention graph, and for a map that failed.
    @Nullable package var attention: Attention?
    /// All files of the item but `result.json` and `run.json`.
    package var files: [ItemFile]
    /// Remarks for a person.
    package var notes: [String]
    /// The kind of each note; nil without notes.
    package var noteCodes: [Note.Code]?

    /// The highest score first; equal ones in the model's order.
    package var ranked: [Class] {
        classes.enumerated().sorted { ($0.element.probability, $1.offset) > ($1.element.probability, $0.offset) }
            .map(\.element)
    }

    /// A reviewer looks at the picture as a whole.
    package var parts: [ItemPart] {
        [ItemPart(id: 1, kind: leading, state: .ready, thumbnail: PhotoClassification.Writer.thumbnailFile)]
    }

    /// Rows for the batch's statistics table.
    package var statistics: [Statistic] {
        let scores = classes.map { Statistic(label: $0.name, measure: "probability", value: $0.probability, unit: "1") }
        guard let risk else { return scores }
        let level = Double(risk.level.rank)
        return scores + [
            Statistic(label: "risk", measure: "level (0 low, 1 moderate, 2 high)", value: level, unit: "1")
        ]
    }
}

extension PhotoClassificationResult {
    /// `attention.json`: the map's own values.
    package struct AttentionValues: Codable, Sendable {
        static let schema = JSONSchema(own: PackageResources.attention_schema_json)

        /// The class that the map explains.
        package let name: String
        /// Columns.
        package let width: Int
        /// Rows.
        package let height: Int
        /// Rows from the top of the square picture.
        package let rows: [[Float]]
    }

    /// The title of a class, for display.
    func title(of name: String) -> String { classes.first { $0.name == name }?.title ?? name }

    /// Whether the network got other colours than the picture has.
    var isColorCorrected: Bool { preparation.colorConstancy == "applied" }
}

extension PhotoClassificationResult: InspectableResult {
    /// The contact sheet, which has this result if the result has a report.
    package var batchFiles: Set<String> {
        files.contains { $0.path == PhotoClassification.Writer.reportFile } ? [ContactSheet.file] : []
    }

    /// Scores, pictures, report and attention values must be as `result.json` states.
    package func inspectFiles(_ inspection: inout ItemInspection) throws {
        let sum = classes.reduce(0) { $0 + $1.probability }
        if classes.map(\.probability).max() != classes.first(where: { $0.name == leading })?.probability {
            inspection.add("result.json", "its leading class \(leading) does not have the highest score")
        }
        if !sum.isFinite { inspection.add("result.json", "the sum of its scores is not finite") }
        let side = PhotoClassification.Writer.thumbnailSide
        try inspection.inspectPicture(PhotoClassification.Writer.thumbnailFile, size: (side, side), of: "a thumbnail")
        let inputSide = preparation.inputSizePx
        try inspection.inspectPicture(
            PhotoClassification.Writer.photoFile,
            size: (inputSide, inputSide),
            of: "the input of the model"
        )
        try inspection.inspectPicture(PhotoClassification.Writer.heatmapFile)
        let report = PhotoClassification.Writer.reportFile
        try inspection.inspect(report) { inspection, path in
            if let detail = PDFPage.fault(at: path) { inspection.add(report, detail) }
        }
        guard let attention else { return }
        try inspection.inspect(attention.valuesFile, as: AttentionValues.schema) {
            (inspection, values: AttentionValues) in
            let isWhole = values.rows.count == values.height && values.rows.allSatisfy { $0.count == values.width }
            if !isWhole || (values.width, values.height) != (attention.width, attention.height) {
                inspection.add(
                    attention.valuesFile,
                    "does not have the \(attention.width)×\(attention.height) values that result.json states"
                )
            } else if values.rows.joined().min() != attention.minimum || values.rows.joined().max() != attention.maximum
                || values.name != attention.name
            {
                inspection.add(attention.valuesFile, "its class or range differs from result.json")
            }
        }
    }
}
