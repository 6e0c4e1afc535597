import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneNumerics
import NocturneRecipeSupport
import NocturneSystem

/// The stages that process a photo.
extension PhotoClassification {
    /// The central square of a photo, in the model's input size.
    public struct LoadedPhoto: Sendable {
        let source: ClassifiedPhotoSource
        let facts: PhotoFacts
        let part: PixelRectangle
        let picture: RGBImage
    }

    /// Decodes and resizes row by row: a large photo is never held as a whole, unless it must be rotated.
    func load(_ source: ClassifiedPhotoSource, _ item: RecipeItem, _ context: StageContext) throws -> LoadedPhoto {
        let preprocessing = PhotoPreprocessing(try model(source.photo.model).settings)
        let part = PixelRectangle.centreSquare(width: source.photo.width, height: source.photo.height)
        var resize = try preprocessing.rowResize(part: part)
        let facts = try PhotoReader.readBands(
            at: source.photo.path,
            flag: context.scope.flag,
            part: { facts throws(PhotoError) in
                guard facts.uprightWidth == source.photo.width, facts.uprightHeight == source.photo.height else {
                    throw PhotoError(.corrupt, path: source.photo.path, "the file changed since it was found")
                }
                return PhotoPart(
                    columns: part.x..<part.x + part.width,
                    rows: part.y..<part.y + part.height
                )
            },
            { resize.add($0.samples, stride: $0.stride, count: $0.rows.count) }
        )
        let picture = try resize.finish(flag: context.scope.flag)
        return LoadedPhoto(source: source, facts: facts, part: part, picture: picture)
    }

    /// The classifier's input, and how it was prepared.
    public struct PreparedPhoto: Sendable {
        let source: ClassifiedPhotoSource
        let facts: PhotoFacts
        let values: [Float]
        let vector: [Float]
        let square: PreparedSquare
        let notes: [String]
    }

    /// The square given to the model, and how it was cropped and corrected.
    struct PreparedSquare: Sendable {
        let picture: RGBImage
        let part: PixelRectangle
        let gains: SIMD3<Double>?
        let exemption: ShadesOfGray.Exemption?
    }

    func prepare(
        _ loaded: consuming LoadedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> PreparedPhoto {
        let source = loaded.source
        let settings = try model(source.photo.model).settings
        let prepared = try PhotoPreprocessing(settings).prepare(resized: loaded.picture, part: loaded.part)
        var notes = loaded.facts.notes.map { "\($0)" }
        switch prepared.colourConstancy?.exemption {
        case .flat: notes.append(ReportText.flat)
        case .nearBlack: notes.append(ReportText.nearBlack)
        case nil: break
        }
        var vector: [Float] = []
        if let metadata = settings.metadata {
            vector = (source.metadata ?? .unknown).vector(metadata)
            if source.metadata == nil, source.expectsMetadata { notes.append(ReportText.noMetadata) }
            notes += source.metadataNotes ?? []
            if let age = source.metadata?.age, !(0...100).contains(age) {
                notes.append(ReportText.clampedAge(ClinicalMetadata.text(age)))
            }
        }
        return PreparedPhoto(
            source: source,
            facts: loaded.facts,
            values: prepared.values,
            vector: vector,
            square: PreparedSquare(
                picture: prepared.picture,
                part: prepared.part,
                gains: prepared.colourConstancy?.gains,
                exemption: prepared.colourConstancy?.exemption
            ),
            notes: notes
        )
    }

    func startInference(
        _ sessions: ClassificationSessions,
        _ prepared: consuming PreparedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ClassificationRun {
        ClassificationRun(model: try model(prepared.source.photo.model), sessions: sessions, prepared: prepared)
    }

    /// The scores and the values derived from them.
    public struct ClassifiedPhoto: Sendable {
        let source: ClassifiedPhotoSource
        let facts: PhotoFacts
        let vector: [Float]
        let square: PreparedSquare
        let scores: ClassScores
        let risk: RiskAssessment?
        let attention: AttentionMap?
        let notes: [String]
    }

    func finish(
        _ inferred: consuming ClassificationRun.Scored,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ClassifiedPhoto {
        let (prepared, scores) = (inferred.prepared, inferred.scores)
        let settings = try model(prepared.source.photo.model).settings
        return ClassifiedPhoto(
            source: prepared.source,
            facts: prepared.facts,
            vector: prepared.vector,
            square: prepared.square,
            scores: scores,
            risk: settings.risk.map {
                RiskAssessment(probabilities: scores.probabilities, classes: settings.classes, settings: $0)
            },
            attention: inferred.attention,
            notes: prepared.notes + scores.notes + inferred.notes
        )
    }

    /// With the attention map drawn over the picture.
    public struct IllustratedPhoto: Sendable {
        let classified: ClassifiedPhoto
        let overlay: RGBImage?
        let heatmap: RGBImage?
    }

    func render(
        _ finished: consuming ClassifiedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> IllustratedPhoto {
        let picture = finished.square.picture
        return IllustratedPhoto(
            classified: finished,
            overlay: finished.attention.map { AttentionOverlay.overlay($0, on: picture) },
            heatmap: finished.attention.map { AttentionOverlay.picture($0, on: picture) }
        )
    }

    func write(
        _ meshed: consuming IllustratedPhoto,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        let model = try model(meshed.classified.source.photo.model)
        return try ClassificationWriter(model: model, options: options, illustrated: meshed, item: item)
            .write(into: folder, scope: context.scope)
    }
}
