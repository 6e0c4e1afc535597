public import NocturneBatch
public import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
public import NocturneJournal
import NocturneNumerics
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// Segments the instances in photos; writes for each its mask, its crop and its position in reading order.
///
/// Loading and inference are here, decoding of instances in ``PhotoInstances/finish(_:_:_:)``, drawing and writing in
/// their own files.
public struct PhotoInstances: Recipe {
    let models: [PhotoInstancesModel]
    let options: PhotoInstancesOptions
    let limits = PhotoLimits()

    public init(models: [PhotoInstancesModel], options: PhotoInstancesOptions) {
        self.models = models
        self.options = options
    }

    func model(_ id: String) throws -> PhotoInstancesModel {
        guard let model = models.first(where: { $0.package.id == id }) else {
            throw PhotoInstancesModelError(package: id, detail: "is not among the models of this run")
        }
        return model
    }

    // MARK: Discovery and planning

    public func discover(_ request: DiscoveryRequest, scope: ComputeScope) throws -> Discovery {
        let optionTexts = options.shown.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let readers = models.map { model in
            PhotoDiscovery.Reader(
                id: model.package.id,
                fingerprintParts: [model.package.digest.hex, model.engineName, model.precision.rawValue] + optionTexts,
                minimumSide: model.settings.input.minimumSide
            )
        }
        return try PhotoDiscovery(models: readers.map(\.id), limits: limits, scope: scope)
            .records(for: readers, request)
    }

    public func sharedBytes(threads: Int) throws -> Int {
        try models.reduce(0) { $0 + (try $1.residentBytes(threads: threads)) }
    }

    public func plan(_ record: PhotoRecord, threads: Int, lean: Bool) throws -> ItemPlan {
        PhotoInstancesMemory(record: record, model: try model(record.model), options: options).plan(lean: lean)
    }

    /// Runs one picture of the network's usual input size.
    public func secondsPerStep(scope: ComputeScope) throws -> Double {
        let sessions = PhotoInstancesSessions()
        let total = try models.reduce(0.0) { total, model in
            let side = model.settings.input.longSide
            let shape = model.inputShape(model.frame(width: side, height: side))
            let input = Tensor(shape: shape, values: [Float](repeating: 0, count: shape.reduce(1, *)))
            let start = scope.time.monotonic
            _ = try model.run(input, in: sessions, scope: scope)
            return total + (scope.time.monotonic - start).inSeconds
        }
        return models.isEmpty ? 0 : total / Double(models.count)
    }

    public func threadsOfProcess(cores: Int) throws -> Int {
        try models.compactMap { try $0.threadScaling()?.threadsOfProcess(cores: cores) }.min() ?? cores
    }

    public func stages(_ start: StageBuilder<PhotoRecord>) -> RecipeStages<PhotoRecord> {
        start.load(load).prepare(prepare).infer(PhotoInstancesSessions.init, startInference).finish(finish)
            .render(render).write(write)
    }

    // MARK: Loading and preparation

    func load(_ record: PhotoRecord, _ item: RecipeItem, _ context: StageContext) throws -> LoadedPhoto {
        LoadedPhoto(record: record, photo: try record.read(limits, flag: context.scope.flag))
    }

    /// A picture and its network input.
    public struct PreparedPhoto: Sendable {
        let record: PhotoRecord
        let photo: Photo
        let frame: Letterbox
        let input: Tensor
    }

    func prepare(_ loaded: consuming LoadedPhoto, _ item: RecipeItem, _ context: StageContext) throws
        -> PreparedPhoto
    {
        let model = try model(loaded.record.model)
        let frame = model.frame(width: loaded.photo.image.width, height: loaded.photo.image.height)
        let input = model.settings.input
        let small = try input.resampling.resize(loaded.photo.image, to: frame.content, flag: context.scope.flag)
        let tensor = PhotoInstances.tensor(of: small, frame, input)
        return PreparedPhoto(record: loaded.record, photo: loaded.photo, frame: frame, input: tensor)
    }

    /// Planes of red, green and blue, minus the mean and divided by the standard deviation; 0 outside the picture.
    private static func tensor(of image: RGBImage, _ frame: Letterbox, _ input: PhotoInput) -> Tensor {
        let tables = (0..<3).map { channel in
            (0..<256).map { Float((Double($0) / 255 - input.mean[channel]) / input.deviation[channel]) }
        }
        let plane = frame.inputWidth * frame.inputHeight
        let first = frame.content.y * frame.inputWidth + frame.content.x
        var values = [Float](repeating: 0, count: 3 * plane)
        for channel in 0..<3 {
            let table = tables[channel]
            for y in 0..<image.height {
                let source = y * image.width * 3 + channel
                let target = channel * plane + first + y * frame.inputWidth
                for x in 0..<image.width { values[target + x] = table[Int(image.samples[source + 3 * x])] }
            }
        }
        return Tensor(shape: [1, 3, frame.inputHeight, frame.inputWidth], values: values)
    }

    // MARK: Inference

    /// The network's outputs for a picture.
    public struct InferredPhoto: Sendable {
        let record: PhotoRecord
        let photo: Photo
        let frame: Letterbox
        let outputs: [String: Tensor]
        /// Why there are no outputs; only with the fallback to a single item, otherwise the photo fails.
        let failure: String?
    }

    func startInference(
        _ sessions: PhotoInstancesSessions,
        _ prepared: consuming PreparedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> PhotoInference {
        PhotoInference(
            model: try model(prepared.record.model),
            sessions: sessions,
            prepared: prepared,
            keepsFailure: options.usesSingleItemFallback
        )
    }

    // MARK: Recognizing results

    public func recognize(folder: String, fingerprint: String) throws -> ItemProduct? {
        try PhotoInstancesResult.recognize(folder: folder, fingerprint: fingerprint)
    }
}

/// Inference on one photo: a single step, so there is nothing to checkpoint.
public final class PhotoInference: InferenceRun {
    private let model: PhotoInstancesModel
    private let sessions: PhotoInstancesSessions
    private let prepared: PhotoInstances.PreparedPhoto
    private let keepsFailure: Bool
    private var outputs: [String: Tensor]?
    private var failure: String?

    /// - Parameter keepsFailure: whether a network that cannot be run on the photo is a reason of the photo's result
    ///   instead of an error.
    init(
        model: PhotoInstancesModel,
        sessions: PhotoInstancesSessions,
        prepared: PhotoInstances.PreparedPhoto,
        keepsFailure: Bool
    ) {
        self.model = model
        self.sessions = sessions
        self.prepared = prepared
        self.keepsFailure = keepsFailure
    }

    public var stepCount: Int { 1 }
    public var stepsDone: Int { outputs == nil && failure == nil ? 0 : 1 }

    public func step(_ context: StageContext) throws {
        do {
            outputs = try model.run(prepared.input, in: sessions, scope: context.scope)
        } catch let error as ModelFormatError where keepsFailure {
            failure = "\(error)"
        }
    }

    public func checkpoint(force: Bool, _ context: StageContext) throws {}

    public func finish(_ context: StageContext) throws -> PhotoInstances.InferredPhoto {
        PhotoInstances.InferredPhoto(
            record: prepared.record,
            photo: prepared.photo,
            frame: prepared.frame,
            outputs: outputs ?? [:],
            failure: failure
        )
    }
}
