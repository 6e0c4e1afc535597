package import NocturneBatch
package import NocturneConcurrency
import NocturneCore
package import NocturneFormats
import NocturneRecipeSupport
package import NocturneReport
package import NocturneSystem

/// Classifies photos and writes class scores, a risk, an attention map and a report.
///
/// Results never state a diagnosis: see ``ReportText``.
package struct PhotoClassification: PhotoRecipe {
    /// In the order in which they were named.
    package let models: [PhotoClassificationModel]
    package let options: Options
    /// Photos with a side above 8,000 pixels are reduced while they are decoded.
    package let limits = PhotoLimits()

    /// - Parameter models: of packages for classification, with different ids.
    package init(models: [PhotoClassificationModel], options: Options) {
        self.models = models
        self.options = options
    }

    // MARK: Discovery and planning

    /// Photos as one family, and files with metadata as companions.
    package func claims(
        _ request: DiscoveryRequest,
        _ files: InputFiles,
        scope: ComputeScope
    ) throws -> any InputClaims {
        Discovery(models, options, request, files, scope: scope)
    }

    /// There is no lean plan: a picture is small compared with a volume.
    package func plan(_ source: Source, threads: Int, lean: Bool) throws -> ItemPlan {
        let settings = try model(source.photo.model).settings
        let side = settings.inputSize
        let (part, width, height) = settings.scaling(width: source.photo.width, height: source.photo.height)
        let taps = 2 * max(part.width / width, part.height / height, 1) + 16
        // The rows of the part in the new width, the result, and the weights of both passes.
        let resizing =
            3 * width * part.height + 15 * width * height + max(width, height) * taps * 24 + 3 * part.width
        return ItemPlan(
            buffers: [
                PlannedBuffer("decoder", bytes: source.photo.decodingBytes, in: .load),
                PlannedBuffer("resizing", bytes: resizing, in: .load),
                PlannedBuffer("network input", bytes: side * side * 12, from: .prepare, through: .infer),
                PlannedBuffer("square picture", bytes: side * side * 3, from: .prepare, through: .write),
                // The resized map, its overlay, and the picture with the colour bar.
                PlannedBuffer("overlay", bytes: side * (side + 64) * 10, from: .render, through: .write),
                PlannedBuffer("files", bytes: side * side * 12 + (2 << 20), in: .write),
            ],
            steps: 1
        )
    }

    /// Runs a picture through each classifier. The first run of a session also creates it, so the second is timed.
    package func secondsPerStep(scope: ComputeScope) throws -> Double {
        let sessions = PhotoSessions()
        return try mean { model in
            let side = model.settings.inputSize
            let picture = [Float](repeating: 0, count: 3 * side * side)
            let vector = model.settings.metadata.map { ClinicalMetadata.unknown.vector($0) } ?? []
            _ = try model.classify(picture: picture, vector: vector, in: sessions, scope: scope)
            let start = scope.time.monotonic
            _ = try model.classify(picture: picture, vector: vector, in: sessions, scope: scope)
            return (scope.time.monotonic - start).inSeconds
        }
    }

    /// All stages; inference is one step.
    package func stages(_ start: StageBuilder<Source>) -> RecipeStages<Source> {
        start.load(load).prepare(prepare).infer(PhotoSessions.init, startInference).finish(finish)
            .render(render).write(write)
    }

    // MARK: Recognizing results, batch files

    /// Writes the contact sheet.
    package func summarize(folders: CompletedFolders, into output: String, flag: CancellationFlag) throws {
        try Self.summarize(options, folders: folders, into: output, flag: flag)
    }
}
