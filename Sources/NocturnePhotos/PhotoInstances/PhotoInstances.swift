package import NocturneBatch
package import NocturneConcurrency
import NocturneCore
package import NocturneFormats
import NocturneInference
import NocturneNumerics
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// Segments the instances in photos; writes for each its mask, its crop, its position in reading order, and its text if there
/// is a package that reads text.
///
/// Planning and preparation are here, inference in ``Run``, decoding of instances in ``PhotoInstances/finish(_:_:_:)``, drawing and writing in
/// their own files.
package struct PhotoInstances: PhotoRecipe {
    /// In the order in which they were named.
    package let models: [PhotoInstancesModel]
    /// Reads the text on instances of all models; nil for no text.
    package let textModel: PhotoTextModel?
    package let options: Options
    /// Photos with a side above 8,000 pixels are reduced while they are decoded.
    package let limits = PhotoLimits()
    /// Those of the package that reads text: the text is part of the results.
    package var fingerprintParts: [String] { textModel?.chosen.fingerprintParts ?? [] }

    /// - Parameters:
    ///   - models: of packages for instances, with different ids.
    ///   - textModel: reads the text on instances.
    package init(models: [PhotoInstancesModel], textModel: PhotoTextModel? = nil, options: Options) {
        self.models = models
        self.textModel = textModel
        self.options = options
    }

    /// Those of the model that reads text.
    package func otherBytes(threads: Int) throws -> Int { try textModel?.residentBytes(threads: threads) ?? 0 }

    // MARK: Planning

    /// Plans every large buffer of a photo from its header alone. Photos have no lean plan.
    package func plan(_ record: PhotoRecord, threads: Int, lean: Bool) throws -> ItemPlan {
        let frame = try model(record.model).frame(width: record.width, height: record.height)
        let input = frame.inputWidth * frame.inputHeight
        let overlay = OverlayDrawing.size(
            width: record.width,
            height: record.height,
            longestSide: options.overlay.side
        )
        let splitting = InstanceSplitter.predictedBytes(width: frame.inputWidth, height: frame.inputHeight) + 12 * input
        // With a package that reads text, instances are decoded before the text is read.
        let decoding = textModel == nil ? Stage.finish : .infer
        var own = [
            PlannedBuffer(
                "smaller picture",
                bytes: 3 * frame.content.width * (record.height + frame.content.height),
                in: .prepare
            ),
            PlannedBuffer("network input", bytes: 12 * input, from: .prepare, through: .infer),
            PlannedBuffer("network output", bytes: 2 * 12 * input, from: .infer, through: .finish),
            PlannedBuffer("splitting", bytes: splitting, from: decoding, through: decoding),
            PlannedBuffer("masks", bytes: 64 * record.width + (4 << 20), from: decoding, through: .write),
            PlannedBuffer(
                "overlay",
                bytes: overlay.width * overlay.height * 16 + 3 * overlay.width * record.height,
                from: .render,
                through: .write
            ),
            // Crops drawn and compressed at the same time cover the picture at most once.
            PlannedBuffer("crops", bytes: 20 * record.width * record.height, in: .write),
        ]
        if let textModel {
            // Crops as they lie, upright, and turned: those that are read at the same time cover the picture at most once.
            let crops = 20 * record.width * record.height
            own += [
                PlannedBuffer("text crop", bytes: crops, in: .infer),
                PlannedBuffer("text networks", bytes: textModel.itemBytes(threads: threads), in: .infer),
            ]
        }
        return ItemPlan(buffers: record.buffers + own, steps: 1, isLean: lean)
    }

    /// Runs one picture of the network's usual input size.
    package func secondsPerStep(scope: ComputeScope) throws -> Double {
        let sessions = PhotoSessions()
        return try mean { model in
            let side = model.settings.input.longSide
            let shape = model.inputShape(model.frame(width: side, height: side))
            let input = Tensor(shape: shape, values: [Float](repeating: 0, count: shape.reduce(1, *)))
            let start = scope.time.monotonic
            _ = try model.run(input, in: sessions, scope: scope)
            return (scope.time.monotonic - start).inSeconds
        }
    }

    /// All stages; inference has a step for each instance whose text is read.
    package func stages(_ start: StageBuilder<PhotoRecord>) -> RecipeStages<PhotoRecord> {
        start.load(load).prepare(prepare).infer(PhotoSessions.init, startInference).finish(finish)
            .render(render).write(write)
    }

    // MARK: Preparation

    /// A picture and its network input.
    package struct PreparedPhoto: Sendable {
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
        let small = try resized(loaded.photo.image, to: frame.content, input.resampling, flag: context.scope.flag)
        let values = input.colors.planes(
            of: small,
            at: (frame.content.x, frame.content.y),
            width: frame.inputWidth,
            height: frame.inputHeight
        )
        let tensor = Tensor(shape: [1, 3, frame.inputHeight, frame.inputWidth], values: values)
        return PreparedPhoto(record: loaded.record, photo: loaded.photo, frame: frame, input: tensor)
    }

    /// The photo in the size of its part of the network's input.
    private func resized(
        _ image: RGBImage,
        to content: PixelBox,
        _ resampling: PhotoInstancesModel.Settings.Input.Resampling,
        flag: CancellationFlag
    ) throws -> RGBImage {
        switch resampling {
        case .antialiased:
            try PillowResize.bilinear(image, width: content.width, height: content.height, flag: flag)
        case .bilinear: try BilinearResize.resize(image, width: content.width, height: content.height, flag: flag)
        }
    }

    // MARK: Inference

    func startInference(
        _ sessions: PhotoSessions,
        _ prepared: consuming PreparedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> Run {
        Run(self, model: try model(prepared.record.model), sessions, prepared, item: item.name)
    }
}
