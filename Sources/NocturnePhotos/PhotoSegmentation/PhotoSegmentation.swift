package import NocturneBatch
package import NocturneConcurrency
import NocturneCore
package import NocturneFormats
import NocturneInference
import NocturneNumerics
import NocturneRecipeSupport
import NocturneVolumes

/// Gives photos a label map, in the way of nnU-Net: a photo is a plane for the networks of volumes, see `PlaneModel`.
///
/// Planning, loading and inference are here, measuring, drawing and writing in their own files.
package struct PhotoSegmentation: PhotoRecipe {
    /// In the order in which they were named.
    package let models: [PhotoSegmentationModel]
    package let options: Options
    /// Photos are never reduced: networks know objects by their size in pixels. Large ones need memory instead.
    package let limits = PhotoLimits(side: 1 << 16)

    /// - Parameter models: of packages for label maps of photos, with different ids.
    package init(models: [PhotoSegmentationModel], options: Options) {
        self.models = models
        self.options = options
    }

    // MARK: Planning

    /// Plans every large buffer of a photo from its header alone. Photos have no lean plan.
    package func plan(_ record: PhotoRecord, threads: Int, lean: Bool) throws -> ItemPlan {
        let model = try model(record.model)
        let networks = try model.plane.plan(width: record.width, height: record.height, threads: threads)
        let pixels = record.width * record.height
        let overlay = OverlayDrawing.size(
            width: record.width,
            height: record.height,
            longestSide: options.overlay.side
        )
        let bits = LabelPNG.bits(for: model.package.labels.map(\.value).max() ?? 0)
        let own = [
            PlannedBuffer(
                "overlay",
                bytes: overlay.width * overlay.height * 8 + 3 * overlay.width * record.height + (8 << 20),
                from: .render,
                through: .write
            ),
            PlannedBuffer(
                "label map as PNG",
                bytes: LabelPNG.writingBytes(width: record.width, height: record.height, bits: bits),
                in: .write
            ),
            // Far more than pictures have: a run of 16 bytes for every 16 pixels.
            PlannedBuffer("masks", bytes: pixels + (4 << 20), in: .write),
        ]
        return ItemPlan(
            buffers: record.buffers + own + networks.buffers,
            steps: networks.steps,
            isLean: lean,
            diskBytes: pixels * bits / 8 + overlay.width * overlay.height * 3 + (1 << 20)
        )
    }

    /// Runs and times one tile of every model.
    package func secondsPerStep(scope: ComputeScope) throws -> Double {
        try mean { try $0.plane.secondsPerTile(scope: scope) }
    }

    /// All stages; inference runs tile by tile.
    package func stages(_ start: StageBuilder<PhotoRecord>) -> RecipeStages<PhotoRecord> {
        start.load(load).prepare(prepare).infer(Sessions.init, startInference).finish(finish)
            .render(render).write(write)
    }

    // MARK: Preparation

    /// A picture and what the networks take of it.
    package struct PreparedPhoto: Sendable {
        let record: PhotoRecord
        let photo: Photo
        let plane: PreparedVolume.NetworkInput
    }

    func prepare(
        _ loaded: consuming LoadedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> PreparedPhoto {
        let model = try model(loaded.record.model)
        let image = loaded.photo.image
        let channels = try model.settings.input.planes(of: image, flag: context.scope.flag)
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
    package struct InferredPhoto: Sendable {
        let record: PhotoRecord
        let photo: Photo
        let labels: LabelVolume
        let confidence: [UInt16: LabelConfidence]
        let used: EngineInUse
    }

    func startInference(
        _ sessions: Sessions,
        _ prepared: consuming PreparedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> Tiles {
        let model = try model(prepared.record.model)
        return Tiles(
            record: prepared.record,
            photo: prepared.photo,
            inference: try model.plane.start(
                prepared.plane,
                item,
                sessions: sessions.sessions(of: model.package.id),
                context: context
            )
        )
    }
}

extension PhotoSegmentation {
    /// Inference on one photo, tile by tile.
    package final class Tiles: InferenceRun {
        private let record: PhotoRecord
        private let photo: Photo
        private let inference: ProgramRun

        init(record: PhotoRecord, photo: Photo, inference: ProgramRun) {
            self.record = record
            self.photo = photo
            self.inference = inference
        }

        /// The number of tiles.
        package var stepCount: Int { inference.stepCount }
        /// The tiles so far.
        package var stepsDone: Int { inference.stepsDone }

        /// Runs one tile.
        /// - Throws: `NetworkOutputError` for outputs that are not finite, `CancelledError`.
        package func step(_ context: StageContext) throws { try inference.step(context) }

        /// Saves finished slices, of which a photo has none before its last tile.
        package func checkpoint(force: Bool, _ context: StageContext) throws { try inference.checkpoint(force: force) }

        /// - Throws: `DeviceFault` where the device failed meanwhile.
        package func finish(_ context: StageContext) throws -> InferredPhoto {
            return InferredPhoto(
                record: record,
                photo: photo,
                labels: try inference.finish(context),
                confidence: inference.confidence,
                used: inference.used
            )
        }
    }

    /// The sessions of all models in use. The inference stage owns them.
    final class Sessions {
        private var made: [String: LevelSessions] = [:]

        func sessions(of model: String) -> LevelSessions {
            if let sessions = made[model] { return sessions }
            let sessions = LevelSessions()
            made[model] = sessions
            return sessions
        }
    }
}
