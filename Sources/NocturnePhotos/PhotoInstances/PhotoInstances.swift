package import NocturneBatch
package import NocturneConcurrency
import NocturneCore
package import NocturneFormats
import NocturneInference
package import NocturneJournal
import NocturneNumerics
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// Segments the instances in photos; writes for each its mask, its crop and its position in reading order.
///
/// Loading and inference are here, decoding of instances in ``PhotoInstances/finish(_:_:_:)``, drawing and writing in
/// their own files.
package struct PhotoInstances: PhotoRecipe {
    package let models: [PhotoInstancesModel]
    package let options: PhotoInstancesOptions
    package let limits = PhotoLimits()

    /// - Parameter models: of packages for instances, with different ids.
    package init(models: [PhotoInstancesModel], options: PhotoInstancesOptions) {
        self.models = models
        self.options = options
    }

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
        let own = [
            PlannedBuffer(
                "smaller picture",
                bytes: 3 * frame.content.width * (record.height + frame.content.height),
                from: .prepare,
                through: .prepare
            ),
            PlannedBuffer("network input", bytes: 12 * input, from: .prepare, through: .infer),
            PlannedBuffer("network output", bytes: 2 * 12 * input, from: .infer, through: .finish),
            PlannedBuffer("splitting", bytes: splitting, from: .finish, through: .finish),
            PlannedBuffer("masks", bytes: 64 * record.width + (4 << 20), from: .finish, through: .write),
            PlannedBuffer(
                "overlay",
                bytes: overlay.width * overlay.height * 16 + 3 * overlay.width * record.height,
                from: .render,
                through: .write
            ),
            // Crops drawn and compressed at the same time cover the picture at most once.
            PlannedBuffer("crops", bytes: 20 * record.width * record.height, from: .write, through: .write),
        ]
        return ItemPlan(buffers: record.buffers + own, steps: 1, isLean: lean)
    }

    /// Runs one picture of the network's usual input size.
    package func secondsPerStep(scope: ComputeScope) throws -> Double {
        let sessions = PhotoSessions()
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
        let tensor = PhotoInstances.tensor(of: small, frame, input)
        return PreparedPhoto(record: loaded.record, photo: loaded.photo, frame: frame, input: tensor)
    }

    /// The photo in the size of its part of the network's input.
    private func resized(
        _ image: RGBImage,
        to content: PixelBox,
        _ resampling: PhotoInput.Resampling,
        flag: CancellationFlag
    ) throws -> RGBImage {
        switch resampling {
        case .antialiased:
            try PillowResize.bilinear(image, width: content.width, height: content.height, flag: flag)
        case .bilinear: try BilinearResize.resize(image, width: content.width, height: content.height, flag: flag)
        }
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
    package struct InferredPhoto: Sendable {
        let record: PhotoRecord
        let photo: Photo
        let frame: Letterbox
        let outputs: [String: Tensor]
        let used: EngineInUse
        /// Why there are no outputs; only with the fallback to a single item, otherwise the photo fails.
        let failure: String?
    }

    func startInference(
        _ sessions: PhotoSessions,
        _ prepared: consuming PreparedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> SingleStep<InferredPhoto> {
        let model = try model(prepared.record.model)
        let used = model.engineInUse
        return SingleStep { [prepared, keepsFailure = options.usesSingleItemFallback] context in
            var outputs: [String: Tensor] = [:]
            var failure: String?
            do {
                outputs = try model.run(prepared.input, in: sessions, scope: context.scope)
            } catch let error as ModelFormatError where keepsFailure {
                failure = "\(error)"
            }
            try used.end(item.name)
            return InferredPhoto(
                record: prepared.record,
                photo: prepared.photo,
                frame: prepared.frame,
                outputs: outputs,
                used: used,
                failure: failure
            )
        }
    }

    // MARK: Recognizing results

    /// By `result.json`, and the digests of the files that it lists.
    package func recognize(folder: String, fingerprint: String) throws -> ItemProduct? {
        try PhotoInstancesResult.recognize(folder: folder, fingerprint: fingerprint)
    }
}
