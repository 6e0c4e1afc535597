public import NocturneBatch
public import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
public import NocturneJournal
import NocturneNumerics
import NocturneRecipeSupport
public import NocturneSystem

/// Classifies photos and writes class scores, a risk, an attention map and a report.
///
/// Results never state a diagnosis: see ``ReportText``.
public struct PhotoClassification: Recipe {
    let models: [PhotoClassificationModel]
    let options: PhotoClassificationOptions

    public init(models: [PhotoClassificationModel], options: PhotoClassificationOptions) {
        self.models = models
        self.options = options
    }

    func model(_ id: String) throws -> PhotoClassificationModel {
        guard let model = models.first(where: { $0.package.id == id }) else {
            throw PhotoClassificationModelError(package: id, detail: "is not among the models of this run")
        }
        return model
    }

    // MARK: Discovery and planning

    public func discover(_ request: DiscoveryRequest, scope: ComputeScope) throws -> Discovery {
        try ClassifiedPhotoDiscovery(models: models, options: options, scope: scope).run(request)
    }

    public func sharedBytes(threads: Int) throws -> Int {
        try models.reduce(0) { $0 + (try $1.residentBytes(threads: threads)) }
    }

    /// There is no lean plan: a picture is small compared with a volume.
    public func plan(_ source: ClassifiedPhotoSource, threads: Int, lean: Bool) throws -> ItemPlan {
        let settings = try model(source.photo.model).settings
        let preprocessing = PhotoPreprocessing(settings)
        let side = settings.inputSize
        return ItemPlan(
            buffers: [
                PlannedBuffer("decoder", bytes: source.photo.decodingBytes, from: .load, through: .load),
                PlannedBuffer(
                    "resizing",
                    bytes: preprocessing.predictedBytes(width: source.photo.width, height: source.photo.height),
                    from: .load,
                    through: .load
                ),
                PlannedBuffer("network input", bytes: side * side * 12, from: .prepare, through: .infer),
                PlannedBuffer("square picture", bytes: side * side * 3, from: .prepare, through: .write),
                // The resized map, its overlay, and the picture with the colour bar.
                PlannedBuffer("overlay", bytes: side * (side + 64) * 10, from: .render, through: .write),
                PlannedBuffer("files", bytes: side * side * 12 + (2 << 20), from: .write, through: .write),
            ],
            steps: 1
        )
    }

    /// Runs a picture through each classifier. The first run of a session also creates it, so the second is timed.
    public func secondsPerStep(scope: ComputeScope) throws -> Double {
        var total = 0.0
        let sessions = ClassificationSessions()
        for model in models {
            let side = model.settings.inputSize
            let picture = [Float](repeating: 0, count: 3 * side * side)
            let vector = model.settings.metadata.map { ClinicalMetadata.unknown.vector($0) } ?? []
            _ = try model.classify(picture: picture, vector: vector, in: sessions, scope: scope)
            let start = scope.time.monotonic
            _ = try model.classify(picture: picture, vector: vector, in: sessions, scope: scope)
            total += (scope.time.monotonic - start).inSeconds
        }
        return models.isEmpty ? 0 : total / Double(models.count)
    }

    public func threadsOfProcess(cores: Int) throws -> Int {
        try models.compactMap { try $0.threadScaling()?.threadsOfProcess(cores: cores) }.min() ?? cores
    }

    public func stages(_ start: StageBuilder<ClassifiedPhotoSource>) -> RecipeStages<ClassifiedPhotoSource> {
        start.load(load).prepare(prepare).infer(ClassificationSessions.init, startInference).finish(finish)
            .render(render).write(write)
    }

    // MARK: Recognizing results, batch files

    public func summarize(folders: FileBackedList<String>, into output: String, flag: CancellationFlag) throws {
        try PhotoClassificationKind.summarize(options, folders: folders, into: output, flag: flag)
    }

    public func recognize(folder: String, fingerprint: String) throws -> ItemProduct? {
        try PhotoClassificationResult.recognize(folder: folder, fingerprint: fingerprint)
    }
}

extension PhotoPreprocessing {
    /// From the settings of a package.
    init(_ settings: PhotoClassificationSettings) {
        self.init(
            size: settings.inputSize,
            usesColourConstancy: settings.usesColorConstancy,
            mean: SIMD3(settings.mean[0], settings.mean[1], settings.mean[2]),
            deviation: SIMD3(
                settings.standardDeviation[0],
                settings.standardDeviation[1],
                settings.standardDeviation[2]
            )
        )
    }
}
