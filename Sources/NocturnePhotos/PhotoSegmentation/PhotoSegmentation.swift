public import NocturneBatch
public import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
public import NocturneJournal
import NocturneNumerics
import NocturneRecipeSupport
import NocturneSystem
import NocturneVolumes

/// Gives photos a label map, in the way of nnU-Net: a photo is a plane for the networks of volumes, see `PlaneModel`.
///
/// Planning, loading and inference are here, measuring, drawing and writing in their own files.
public struct PhotoSegmentation: Recipe {
    let models: [PhotoSegmentationModel]
    let options: PhotoSegmentationOptions
    /// Photos are never reduced: networks know objects by their size in pixels. Large ones need memory instead.
    let limits = PhotoLimits(side: 1 << 16)

    public init(models: [PhotoSegmentationModel], options: PhotoSegmentationOptions) {
        self.models = models
        self.options = options
    }

    func model(_ id: String) throws -> PhotoSegmentationModel {
        guard let model = models.first(where: { $0.package.id == id }) else {
            throw PhotoSegmentationModelError(package: id, detail: "is not among the models of this run")
        }
        return model
    }

    // MARK: Discovery and planning

    public func discover(_ request: DiscoveryRequest, scope: ComputeScope) throws -> Discovery {
        let optionTexts = options.shown.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let readers = models.map { model in
            PhotoDiscovery.Reader(
                id: model.package.id,
                fingerprintParts: [model.package.digest.hex, model.plane.engineName, model.plane.precision.rawValue]
                    + optionTexts,
                minimumSide: 1
            )
        }
        return try PhotoDiscovery(models: readers.map(\.id), limits: limits, scope: scope)
            .records(for: readers, request)
    }

    public func sharedBytes(threads: Int) throws -> Int {
        try models.reduce(0) { $0 + (try $1.plane.residentBytes(threads: threads)) }
    }

    public func plan(_ record: PhotoRecord, threads: Int, lean: Bool) throws -> ItemPlan {
        try PhotoSegmentationMemory(record: record, model: try model(record.model), options: options)
            .plan(threads: threads, lean: lean)
    }

    /// Runs and times one tile of every model.
    public func secondsPerStep(scope: ComputeScope) throws -> Double {
        let total = try models.reduce(0.0) { $0 + (try $1.plane.secondsPerTile(scope: scope)) }
        return models.isEmpty ? 0 : total / Double(models.count)
    }

    public func threadsOfProcess(cores: Int) throws -> Int {
        try models.map { try $0.plane.threadsOfProcess(cores: cores) }.min() ?? cores
    }

    public func stages(_ start: StageBuilder<PhotoRecord>) -> RecipeStages<PhotoRecord> {
        start.load(load).prepare(prepare).infer(PhotoSegmentationSessions.init, startInference).finish(finish)
            .render(render).write(write)
    }

    // MARK: Loading and preparation

    func load(_ record: PhotoRecord, _ item: RecipeItem, _ context: StageContext) throws -> LoadedPhoto {
        LoadedPhoto(record: record, photo: try record.read(limits, flag: context.scope.flag))
    }

    /// A picture and what the networks take of it.
    public struct PreparedPhoto: Sendable {
        let record: PhotoRecord
        let photo: Photo
        let plane: PreparedPlane
    }

    func prepare(
        _ loaded: consuming LoadedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> PreparedPhoto {
        let model = try model(loaded.record.model)
        let image = loaded.photo.image
        let channels = try PhotoChannels.planes(of: image, model.settings.input, flag: context.scope.flag)
        return PreparedPhoto(
            record: loaded.record,
            photo: loaded.photo,
            plane: try model.plane.prepare(
                channels,
                width: image.width,
                height: image.height,
                scope: context.scope
            )
        )
    }

    // MARK: Inference

    /// The labels of a photo before cleaning.
    public struct InferredPhoto: Sendable {
        let record: PhotoRecord
        let photo: Photo
        let labels: LabelVolume
        let confidence: [UInt16: LabelConfidence]
    }

    func startInference(
        _ sessions: PhotoSegmentationSessions,
        _ prepared: consuming PreparedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> PhotoTiles {
        let model = try model(prepared.record.model)
        return PhotoTiles(
            record: prepared.record,
            photo: prepared.photo,
            inference: try PlaneInference(
                model.plane,
                prepared.plane,
                item,
                sessions: sessions.sessions(of: model.package.id),
                context: context
            )
        )
    }

    // MARK: Recognizing results

    public func recognize(folder: String, fingerprint: String) throws -> ItemProduct? {
        try PhotoSegmentationResult.recognize(folder: folder, fingerprint: fingerprint)
    }
}

/// Inference on one photo, tile by tile.
public final class PhotoTiles: InferenceRun {
    private let record: PhotoRecord
    private let photo: Photo
    private let inference: PlaneInference

    init(record: PhotoRecord, photo: Photo, inference: PlaneInference) {
        self.record = record
        self.photo = photo
        self.inference = inference
    }

    public var stepCount: Int { inference.stepCount }
    public var stepsDone: Int { inference.stepsDone }

    public func step(_ context: StageContext) throws { try inference.step(context) }

    public func checkpoint(force: Bool, _ context: StageContext) throws { try inference.checkpoint(force: force) }

    public func finish(_ context: StageContext) throws -> PhotoSegmentation.InferredPhoto {
        let (labels, confidence) = try inference.finish(context)
        return PhotoSegmentation.InferredPhoto(record: record, photo: photo, labels: labels, confidence: confidence)
    }
}

/// The sessions of all models in use. The inference stage owns them.
final class PhotoSegmentationSessions {
    private var made: [String: PlaneSessions] = [:]

    func sessions(of model: String) -> PlaneSessions {
        if let sessions = made[model] { return sessions }
        let sessions = PlaneSessions()
        made[model] = sessions
        return sessions
    }
}
