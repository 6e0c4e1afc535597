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

        private var photo: PhotoClassification.ScoredPhoto { illustrated.scored }
        private var loaded: PhotoClassification.LoadedPhoto { photo.prepared.loaded }

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
                loaded.picture,
                width: Self.thumbnailSide,
                height: Self.thumbnailSide,
                flag: scope.flag
            )
            try PNGWriter.write(thumbnail, to: folder + "/" + Self.thumbnailFile)
            try PNGWriter.write(loaded.picture, to: folder + "/" + Self.photoFile)
            var written = [Self.thumbnailFile, Self.photoFile]
            if let heatmap = illustrated.heatmap, let map = photo.attention {
                try PNGWriter.write(heatmap, to: folder + "/" + Self.heatmapFile)
                try FileSystem.write(folder + "/" + Self.attentionFile, try StableJSON.encodeLine(values(of: map)))
                written += [Self.heatmapFile, Self.attentionFile]
            }
            // The report shows no files, and is one of them itself: it is drawn before they are listed.
            var result = result()
            let report = ClassificationReport(
                result: result,
                picture: loaded.picture,
                overlay: illustrated.overlay
            )
            try report.page(writingTo: folder + "/" + Self.reportFile).finish()
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

        private var notes: [Note] { loaded.source.shown(photo.notes) }

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
                risk: photo.risk,
                metadata: metadata(),
                preparation: preparation(),
                attention: photo.attention.map(attention),
                files: [],
                notes: notes.texts,
                noteCodes: notes.codes
            )
        }

        private func source() -> PhotoClassificationResult.Source {
            let facts = loaded.facts
            return .init(
                format: facts.format.rawValue,
                name: loaded.source.photo.name,
                widthPx: facts.storedWidth,
                heightPx: facts.storedHeight,
                orientation: facts.orientation,
                colorModel: facts.colourModel.rawValue,
                bitDepth: facts.bitDepth,
                scaleDenominator: facts.scaleDenominator
            )
        }

        private func metadata() -> PhotoClassificationResult.Metadata? {
            // A network that takes metadata gets unknown values too: the result states what it was given.
            guard model.settings.metadata != nil else { return nil }
            let known = loaded.source.metadata ?? .unknown
            return .init(ageYears: known.age, sex: known.sex.rawValue, site: known.site, vector: photo.prepared.vector)
        }

        private func preparation() -> PhotoClassificationResult.Preparation {
            let (size, constancy) = (loaded.source.photo, photo.prepared.constancy)
            let square = model.settings.square(width: size.width, height: size.height)
            return .init(
                squarePx: square.map { .init(x: $0.x, y: $0.y, side: $0.width) },
                inputSizePx: model.settings.inputSize,
                // With an exemption the gains are all 1.
                colorConstancy: constancy == nil ? "notAsked" : constancy?.exemption?.rawValue ?? "applied",
                gains: constancy.map { constancy in (0..<3).map { constancy.gains[$0].inMillionths } }
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
