package import NocturneBatch
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
    package struct LoadedPhoto: Sendable {
        let source: Source
        let facts: PhotoFacts
        /// The square, in pixels of the upright photo.
        let part: PixelBox
        /// The square in the model's input size, before colour correction.
        let picture: RGBImage
    }

    /// Decodes and resizes row by row: a large photo is never held as a whole, unless it must be rotated.
    func load(_ source: Source, _ item: RecipeItem, _ context: StageContext) throws -> LoadedPhoto {
        let side = try model(source.photo.model).settings.inputSize
        let part = PixelBox.centreSquare(width: source.photo.width, height: source.photo.height)
        var resize = try PillowResize(sourceWidth: part.width, sourceHeight: part.height, width: side, height: side)
        let facts = try PhotoReader.readBands(
            at: source.photo.path,
            flag: context.scope.flag,
            part: { facts throws(PhotoError) in
                guard facts.uprightWidth == source.photo.width, facts.uprightHeight == source.photo.height else {
                    throw PhotoError(.corrupt, path: source.photo.path, "the file changed since it was found")
                }
                return PhotoReader.Part(
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
    package struct PreparedPhoto: Sendable {
        let source: Source
        let facts: PhotoFacts
        /// `[channel][y][x]`: red, green, blue, normalised.
        let values: [Float]
        /// The metadata as numbers; empty for a model without.
        let vector: [Float]
        let square: PreparedSquare
        let notes: [Note]
    }

    /// The square given to the model, and how it was cropped and corrected.
    struct PreparedSquare: Sendable {
        let picture: RGBImage
        /// In pixels of the upright photo.
        let part: PixelBox
        /// By which red, green and blue were multiplied; nil for a package without colour correction.
        let gains: SIMD3<Double>?
        /// Why all gains are 1; nil where colours were corrected.
        let exemption: ShadesOfGray.Exemption?
    }

    func prepare(
        _ loaded: consuming LoadedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> PreparedPhoto {
        let source = loaded.source
        let settings = try model(source.photo.model).settings
        let constancy = settings.usesColorConstancy ? ShadesOfGray(measuring: loaded.picture) : nil
        var notes = loaded.facts.notes + (loaded.facts.hasAlpha ? [ReportText.transparent] : [])
        switch constancy?.exemption {
        case .flat: notes.append(ReportText.flat)
        case .nearBlack: notes.append(ReportText.nearBlack)
        case nil: break
        }
        var vector: [Float] = []
        if let metadata = settings.metadata {
            vector = (source.metadata ?? .unknown).vector(metadata)
            if source.metadata == nil, source.expectsMetadata { notes.append(ReportText.noMetadata) }
            notes += source.metadataNotes ?? []
            // What is not understood has a note already.
            let unknown = source.metadataNotes == nil ? source.metadata?.unknownFields ?? [] : []
            if !unknown.isEmpty { notes.append(ReportText.unknown(unknown)) }
            if let age = source.metadata?.age, !(0...100).contains(age) {
                notes.append(ReportText.clampedAge(ClinicalMetadata.text(age)))
            }
        }
        return PreparedPhoto(
            source: source,
            facts: loaded.facts,
            values: settings.colors.planes(
                of: loaded.picture,
                gains: constancy?.gains ?? SIMD3(repeating: 1),
                width: settings.inputSize,
                height: settings.inputSize
            ),
            vector: vector,
            square: PreparedSquare(
                picture: loaded.picture,
                part: loaded.part,
                gains: constancy?.gains,
                exemption: constancy?.exemption
            ),
            notes: notes
        )
    }

    /// A photo with its scores.
    package struct ScoredPhoto: Sendable {
        let prepared: PreparedPhoto
        let scores: ClassScores
        /// Nil without an attention graph, and for a map that failed.
        let attention: AttentionMap?
        let engine: ResultEngine
        let notes: [Note]
    }

    func startInference(
        _ sessions: PhotoSessions,
        _ prepared: consuming PreparedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> SingleStep<ScoredPhoto> {
        let model = try model(prepared.source.photo.model)
        return SingleStep { [prepared] context in
            let used = model.engineInUse
            let scored = try score(prepared, model, used, in: sessions, scope: context.scope)
            try used.end(item.name)
            return scored
        }
    }

    /// Runs the classifier on one photo, and the attention graph for the class with the highest score.
    private func score(
        _ prepared: PreparedPhoto,
        _ model: PhotoClassificationModel,
        _ used: EngineInUse,
        in sessions: PhotoSessions,
        scope: ComputeScope
    ) throws -> ScoredPhoto {
        let (values, features) = try model.classify(
            picture: prepared.values,
            vector: prepared.vector,
            in: sessions,
            scope: scope
        )
        let scores: ClassScores
        do {
            scores = try ClassScores(values: values, settings: model.settings)
        } catch let fault as NetworkOutputError {
            throw NetworkOutputError(path: prepared.source.photo.path, detail: fault.detail)
        }
        let (attention, notes) = try Self.withNotes {
            try features.flatMap {
                try model.attention(
                    features: $0,
                    vector: prepared.vector,
                    index: scores.ranking[0],
                    in: sessions,
                    scope: scope
                )
            }
        }
        return ScoredPhoto(
            prepared: prepared,
            scores: scores,
            attention: attention,
            engine: used.engine,
            notes: notes + used.notes
        )
    }

    /// A map of values that are not finite becomes a note: the scores do not depend on it. Other failures are the item's, whose next
    /// attempt has a map: the result does not depend on a lack of memory.
    private static func withNotes(_ map: () throws -> AttentionMap?) throws -> (AttentionMap?, [Note]) {
        do {
            let map = try map()
            return (map, map?.isUniform == true ? [ReportText.uniformAttention] : [])
        } catch let fault as NetworkOutputError {
            return (nil, [ReportText.attentionFailed(fault.detail)])
        }
    }

    /// The scores and the values derived from them.
    package struct ClassifiedPhoto: Sendable {
        let source: Source
        let facts: PhotoFacts
        let vector: [Float]
        let square: PreparedSquare
        let scores: ClassScores
        /// Nil for a package without levels of risk.
        let risk: ClassScores.Risk?
        let attention: AttentionMap?
        let engine: ResultEngine
        let notes: [Note]
    }

    func finish(
        _ inferred: consuming ScoredPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ClassifiedPhoto {
        let (prepared, scores) = (inferred.prepared, inferred.scores)
        let model = try model(prepared.source.photo.model)
        let settings = model.settings
        // A level of risk of a demonstration would frighten, or soothe, for no reason.
        let risk = model.package.isDemonstration ? nil : settings.risk
        return ClassifiedPhoto(
            source: prepared.source,
            facts: prepared.facts,
            vector: prepared.vector,
            square: prepared.square,
            scores: scores,
            risk: risk.map {
                ClassScores.Risk(probabilities: scores.probabilities, classes: settings.classes, settings: $0)
            },
            attention: inferred.attention,
            engine: inferred.engine,
            notes: prepared.notes + scores.notes + inferred.notes
        )
    }

    /// With the attention map drawn over the picture.
    package struct IllustratedPhoto: Sendable {
        let classified: ClassifiedPhoto
        /// The square with the map over it; nil without a map.
        let overlay: RGBImage?
        /// The overlay with its colour bar.
        let heatmap: RGBImage?
    }

    func render(
        _ finished: consuming ClassifiedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> IllustratedPhoto {
        let overlay = finished.attention?.overlay(on: finished.square.picture)
        return IllustratedPhoto(classified: finished, overlay: overlay, heatmap: overlay.map(AttentionMap.heatmap))
    }

    func write(
        _ meshed: consuming IllustratedPhoto,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        let model = try model(meshed.classified.source.photo.model)
        return try Writer(model: model, options: options, illustrated: meshed, item: item)
            .write(into: folder, scope: context.scope)
    }
}

extension PhotoClassification {
    /// Inference in a single step, so there is nothing to checkpoint.
    package final class SingleStep<Inferred: Sendable>: InferenceRun {
        private let body: (StageContext) throws -> Inferred
        private var inferred: Inferred?

        init(_ body: @escaping (StageContext) throws -> Inferred) { self.body = body }

        /// Always 1.
        package var stepCount: Int { 1 }
        /// 0 or 1.
        package var stepsDone: Int { inferred == nil ? 0 : 1 }

        /// Runs the body.
        package func step(_ context: StageContext) throws { inferred = try body(context) }
        /// Writes nothing: the only step is repeated instead.
        package func checkpoint(force: Bool, _ context: StageContext) throws {}

        /// What the body returned. Traps before ``step(_:)``.
        package func finish(_ context: StageContext) throws -> Inferred {
            guard let inferred else { preconditionFailure("an inference is finished before its step") }
            return inferred
        }
    }
}
