package import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneNumerics
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// The stages that process a photo.
extension PhotoClassification {
    /// A photo as a square of the model's input size.
    package struct LoadedPhoto: Sendable {
        let source: Source
        let facts: PhotoFacts
        /// The input of the model, before colour correction.
        let picture: RGBImage
    }

    /// Decodes and resizes row by row: a large photo is never held as a whole, unless it must be rotated.
    func load(_ source: Source, _ item: RecipeItem, _ context: StageContext) throws -> LoadedPhoto {
        let settings = try model(source.photo.model).settings
        let (part, width, height) = settings.scaling(width: source.photo.width, height: source.photo.height)
        var resize = try PillowResize(sourceWidth: part.width, sourceHeight: part.height, width: width, height: height)
        let facts = try PhotoReader.readBands(
            at: source.photo.path,
            flag: context.scope.flag,
            part: { facts throws(PhotoError) in
                guard facts.uprightWidth == source.photo.width, facts.uprightHeight == source.photo.height else {
                    throw PhotoError(.corrupt, path: source.photo.path, "the file changed since it was found")
                }
                return part
            },
            { resize.add($0.samples, stride: $0.stride, count: $0.rows.count) }
        )
        let scaled = try resize.finish(flag: context.scope.flag)
        let side = settings.inputSize
        // Nothing is scaled here: the square is cut out.
        let square = PixelBox.centreSquare(width: width, height: height, side: side)
        let picture = try PillowResize.bilinear(scaled, part: square, width: side, height: side)
        return LoadedPhoto(source: source, facts: facts, picture: picture)
    }

    /// The classifier's input, and how it was prepared.
    package struct PreparedPhoto: Sendable {
        let loaded: LoadedPhoto
        /// `[channel][y][x]`: red, green, blue, normalised. Empty once the networks have run.
        var values: [Float]
        /// The metadata as numbers; empty for a model without.
        let vector: [Float]
        /// Nil for a package without colour correction.
        let constancy: ShadesOfGray?
        let notes: [Note]
    }

    func prepare(
        _ loaded: consuming LoadedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> PreparedPhoto {
        let source = loaded.source
        let settings = try model(source.photo.model).settings
        let constancy = settings.usesColorConstancy ? ShadesOfGray(measuring: loaded.picture) : nil
        var notes = loaded.facts.allNotes()
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
            // With other notes, the one on unknown fields is among them.
            let unknown = source.metadataNotes == nil ? source.metadata?.unknownFields ?? [] : []
            if !unknown.isEmpty { notes.append(ReportText.unknown(unknown)) }
            if let age = source.metadata?.age, age > ClinicalMetadata.oldest {
                notes.append(ReportText.clampedAge(ClinicalMetadata.text(age)))
            }
        }
        return PreparedPhoto(
            loaded: loaded,
            values: settings.colors.planes(
                of: loaded.picture,
                gains: constancy?.gains ?? SIMD3(repeating: 1),
                width: settings.inputSize,
                height: settings.inputSize
            ),
            vector: vector,
            constancy: constancy,
            notes: notes
        )
    }

    /// A photo with its scores, and the values derived from them.
    package struct ScoredPhoto: Sendable {
        var prepared: PreparedPhoto
        let scores: ClassScores
        /// Nil before ``finish(_:_:_:)``, and for a package without levels of risk.
        var risk: PhotoClassificationResult.Risk?
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
    ) throws -> SingleStep {
        let model = try model(prepared.loaded.source.photo.model)
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
            throw NetworkOutputError(path: prepared.loaded.source.photo.path, detail: fault.detail)
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
            notes: prepared.notes + scores.notes + notes + used.notes
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

    /// Adds the level of risk, and frees the input of the networks.
    func finish(
        _ inferred: consuming ScoredPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ScoredPhoto {
        var scored = inferred
        scored.prepared.values = []
        let model = try model(scored.prepared.loaded.source.photo.model)
        // A level of risk of a demonstration would frighten, or soothe, for no reason.
        guard let risk = model.settings.risk, !model.package.isDemonstration else { return scored }
        scored.risk = .init(scored.scores.probabilities, classes: model.settings.classes, settings: risk)
        return scored
    }

    /// With the attention map drawn over the picture.
    package struct IllustratedPhoto: Sendable {
        let scored: ScoredPhoto
        /// The square with the map over it; nil without a map.
        let overlay: RGBImage?
        /// The overlay with its colour bar.
        let heatmap: RGBImage?
    }

    func render(
        _ finished: consuming ScoredPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> IllustratedPhoto {
        let overlay = finished.attention?.overlay(on: finished.prepared.loaded.picture)
        return IllustratedPhoto(scored: finished, overlay: overlay, heatmap: overlay.map(AttentionMap.heatmap))
    }

    func write(
        _ meshed: consuming IllustratedPhoto,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        let model = try model(meshed.scored.prepared.loaded.source.photo.model)
        return try Writer(model: model, options: options, illustrated: meshed, item: item)
            .write(into: folder, scope: context.scope)
    }
}

extension PhotoClassification {
    /// Inference in a single step, so there is nothing to checkpoint.
    package final class SingleStep: InferenceRun {
        private let body: (StageContext) throws -> ScoredPhoto
        private var inferred: ScoredPhoto?

        init(_ body: @escaping (StageContext) throws -> ScoredPhoto) { self.body = body }

        /// Always 1.
        package var stepCount: Int { 1 }
        /// 0 or 1.
        package var stepsDone: Int { inferred == nil ? 0 : 1 }

        /// Runs the body.
        package func step(_ context: StageContext) throws { inferred = try body(context) }
        /// Writes nothing: the only step is repeated instead.
        package func checkpoint(force: Bool, _ context: StageContext) throws {}

        /// What the body returned. Traps before ``step(_:)``.
        package func finish(_ context: StageContext) throws -> ScoredPhoto {
            guard let inferred else { preconditionFailure("an inference is finished before its step") }
            return inferred
        }
    }
}
