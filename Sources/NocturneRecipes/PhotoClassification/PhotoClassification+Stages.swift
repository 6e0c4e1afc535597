import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneNumerics
public import NocturnePipeline

/// The stages of a photo's way.
extension PhotoClassification {
    /// A photo as decoded, upright.
    public struct LoadedPhoto: Sendable {
        let source: ClassifiedPhotoSource
        let photo: Photo
    }

    public func load(_ item: RecipeItem, _ context: StageContext) throws -> LoadedPhoto {
        let source = try ClassifiedPhotoSource(item.source)
        let photo: Photo
        do {
            photo = try PhotoReader.read(at: source.photo.path, flag: context.scope.flag)
        } catch  where error.code == .cancelled {
            throw CancelledError()
        }
        guard photo.facts.uprightWidth == source.photo.width, photo.facts.uprightHeight == source.photo.height else {
            throw PhotoError(.corrupt, path: source.photo.path, "the file changed since it was found")
        }
        return LoadedPhoto(source: source, photo: photo)
    }

    /// What the classifier sees, and what is said of how it came about.
    public struct PreparedPhoto: Sendable {
        let source: ClassifiedPhotoSource
        let facts: PhotoFacts
        let values: [Float]
        let vector: [Float]
        let look: PreparedLook
        let notes: [String]
    }

    /// The square the model was shown, and how it was cut and corrected.
    struct PreparedLook: Sendable {
        let picture: RGBImage
        let part: PixelRectangle
        let gains: SIMD3<Double>?
        let exemption: ShadesOfGray.Exemption?
    }

    public func prepare(
        _ loaded: consuming LoadedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> PreparedPhoto {
        let (source, photo) = (loaded.source, loaded.photo)
        let settings = try model(source.photo.model).settings
        let prepared = try PhotoPreprocessing(settings).prepare(photo.image, flag: context.scope.flag)
        var notes = photo.facts.notes.map { "\($0)" }
        switch prepared.colourConstancy?.exemption {
        case .flat: notes.append(Wording.flat)
        case .nearBlack: notes.append(Wording.nearBlack)
        case nil: break
        }
        var vector: [Float] = []
        if let metadata = settings.metadata {
            vector = (source.metadata ?? .unknown).vector(metadata)
            if source.metadata == nil, source.expectsMetadata { notes.append(Wording.noMetadata) }
            if let age = source.metadata?.age, !(0...100).contains(age) {
                notes.append(Wording.clampedAge(ClinicalMetadata.text(age)))
            }
        }
        return PreparedPhoto(
            source: source,
            facts: photo.facts,
            values: prepared.values,
            vector: vector,
            look: PreparedLook(
                picture: prepared.picture,
                part: prepared.part,
                gains: prepared.colourConstancy?.gains,
                exemption: prepared.colourConstancy?.exemption
            ),
            notes: notes
        )
    }

    public func startInference(
        _ prepared: consuming PreparedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ClassificationRun {
        ClassificationRun(model: try model(prepared.source.photo.model), prepared: prepared)
    }

    /// Scores, and what follows from them.
    public struct ClassifiedPhoto: Sendable {
        let source: ClassifiedPhotoSource
        let facts: PhotoFacts
        let vector: [Float]
        let look: PreparedLook
        let scores: ClassScores
        let risk: RiskAssessment?
        let attention: AttentionMap?
        let notes: [String]
    }

    public func finish(
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
            look: prepared.look,
            scores: scores,
            risk: settings.risk.map {
                RiskAssessment(probabilities: scores.probabilities, classes: settings.classes, settings: $0)
            },
            attention: inferred.attention,
            notes: prepared.notes + scores.notes + inferred.notes
        )
    }

    /// With the attention map laid over the picture.
    public struct IllustratedPhoto: Sendable {
        let classified: ClassifiedPhoto
        let overlay: RGBImage?
        let heatmap: RGBImage?
    }

    public func mesh(
        _ finished: consuming ClassifiedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> IllustratedPhoto {
        let picture = finished.look.picture
        return IllustratedPhoto(
            classified: finished,
            overlay: finished.attention.map { AttentionOverlay.overlay($0, on: picture) },
            heatmap: finished.attention.map { AttentionOverlay.picture($0, on: picture) }
        )
    }

    public func write(
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
