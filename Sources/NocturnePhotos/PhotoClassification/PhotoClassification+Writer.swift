import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneNumerics
import NocturneRecipeSupport
import NocturneSystem

extension PhotoClassification {
    /// Writes the result files of a classified photo.
    struct Writer {
        let model: PhotoClassificationModel
        let options: Options
        let illustrated: PhotoClassification.IllustratedPhoto
        let item: RecipeItem

        private var photo: PhotoClassification.ClassifiedPhoto { illustrated.classified }

        /// The square of ``photoFile`` for tables and pages, ``thumbnailSide`` pixels wide.
        static let thumbnailFile = "thumbnail.png"

        /// The part of the photo that the model saw, in the size of its input and before its colours were corrected.
        static let photoFile = "photo.png"

        /// The same with the attention map.
        static let heatmapFile = "heatmap.png"

        /// The values of the attention map.
        static let attentionFile = "attention.json"

        /// See ``ClassificationReport``.
        static let reportFile = "report.pdf"

        /// Side of the thumbnail in pixels.
        static let thumbnailSide = 192

        /// Writes pictures, attention map and report, and `result.json` last, which lists them.
        /// - Throws: `FileSystemError`, `CancelledError`; errors of the formats.
        func write(into folder: String, scope: ComputeScope) throws -> ItemProduct {
            let thumbnail = try PillowResize.bilinear(
                photo.square.picture,
                width: Self.thumbnailSide,
                height: Self.thumbnailSide,
                flag: scope.flag
            )
            try PNGWriter.write(thumbnail, to: folder + "/" + Self.thumbnailFile)
            try PNGWriter.write(photo.square.picture, to: folder + "/" + Self.photoFile)
            var written = [Self.thumbnailFile, Self.photoFile]
            if let heatmap = illustrated.heatmap, let map = photo.attention {
                try PNGWriter.write(heatmap, to: folder + "/" + Self.heatmapFile)
                try FileSystem.write(folder + "/" + Self.attentionFile, try StableJSON.encodeLine(values(of: map)))
                written += [Self.heatmapFile, Self.attentionFile]
            }
            // The report shows no files, and is one of them itself: it is drawn before they are listed.
            var result = result()
            let page = try ClassificationReport(
                result: result,
                picture: photo.square.picture,
                overlay: illustrated.overlay
            ).page()
            try page.write(to: folder + "/" + Self.reportFile)
            written.append(Self.reportFile)
            result.files = try written.sorted().map { try ItemFile($0, in: folder) }
            return try result.write(into: folder, notes)
        }

        private func values(of map: AttentionMap) -> PhotoClassificationResult.AttentionValues {
            .init(
                name: model.settings.classes[map.index].name,
                width: map.width,
                height: map.height,
                rows: (0..<map.height).map { Array(map.values[$0 * map.width..<($0 + 1) * map.width]) }
            )
        }

        // MARK: The result

        private var notes: [Note] { photo.source.shown(photo.notes) }

        /// The result without its files.
        private func result() -> PhotoClassificationResult {
            let (settings, scores) = (model.settings, photo.scores)
            let leading = scores.ranking[0]
            return PhotoClassificationResult(
                schemaVersion: 1,
                task: model.package.task,
                disclaimer: Disclaimer.marked(
                    settings.isMedical ? Disclaimer.skin : Disclaimer.text,
                    isDemonstration: model.package.isDemonstration
                ),
                item: item.name,
                fingerprint: item.fingerprint,
                source: source(),
                model: ResultModel(model.package),
                engine: photo.engine,
                options: options.inResults,
                summary: ReportText.summary(
                    title: settings.classes[leading].title,
                    probability: ClassScores.text(scores.probabilities[leading]),
                    isUncertain: scores.isUncertain,
                    isMedical: settings.isMedical
                ),
                leading: settings.classes[leading].name,
                isUncertain: scores.isUncertain,
                classes: zip(settings.classes, scores.probabilities).map {
                    .init(
                        name: $0.name,
                        title: $0.title,
                        color: $0.color.description,
                        malignant: $0.isMalignant,
                        probability: $1
                    )
                },
                risk: photo.risk.map(risk),
                metadata: metadata(),
                preparation: preparation(),
                attention: photo.attention.map(attention),
                files: [],
                notes: notes.texts,
                noteCodes: notes.codes
            )
        }

        private func source() -> PhotoClassificationResult.Source {
            let facts = photo.facts
            return .init(
                format: facts.format.rawValue,
                name: photo.source.photo.name,
                widthPx: facts.storedWidth,
                heightPx: facts.storedHeight,
                orientation: facts.orientation,
                colorModel: facts.colourModel.rawValue,
                bitDepth: facts.bitDepth,
                scaleDenominator: facts.scaleDenominator
            )
        }

        private func risk(_ risk: ClassScores.Risk) -> PhotoClassificationResult.Risk {
            let scores = risk.reasons.map { photo.scores.probabilities[$0.index] }
            return .init(
                level: risk.level,
                words: ReportText.risk(risk.level, isUrgent: scores.contains { $0 > ClassScores.Risk.urgentScore }),
                reasons: risk.reasons.map {
                    .init(
                        name: model.settings.classes[$0.index].name,
                        probability: photo.scores.probabilities[$0.index],
                        threshold: $0.threshold
                    )
                }
            )
        }

        private func metadata() -> PhotoClassificationResult.Metadata? {
            // A network that takes metadata gets unknown values too: the result states what it was given.
            guard model.settings.metadata != nil else { return nil }
            let known = photo.source.metadata ?? .unknown
            return .init(ageYears: known.age, sex: known.sex.rawValue, site: known.site, vector: photo.vector)
        }

        private func preparation() -> PhotoClassificationResult.Preparation {
            let square = photo.square
            return .init(
                squarePx: .init(x: square.part.x, y: square.part.y, side: square.part.width),
                inputSizePx: model.settings.inputSize,
                // Without gains the package asks for no correction; with an exemption they are all 1.
                colorConstancy: square.gains == nil ? "notAsked" : square.exemption?.rawValue ?? "applied",
                gains: square.gains.map { gains in (0..<3).map { gains[$0].inMillionths } }
            )
        }

        private func attention(_ map: AttentionMap) -> PhotoClassificationResult.Attention {
            .init(
                name: model.settings.classes[map.index].name,
                width: map.width,
                height: map.height,
                minimum: map.minimum,
                maximum: map.maximum,
                isUniform: map.isUniform,
                overlayFile: Self.heatmapFile,
                valuesFile: Self.attentionFile
            )
        }
    }
}
