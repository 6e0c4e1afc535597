import NocturneBatch
import NocturneFormats
import NocturnePostprocess
import NocturneRecipeSupport

/// Plans every large buffer of a photo from its header alone.
struct PhotoInstancesMemory {
    let record: PhotoRecord
    let model: PhotoInstancesModel
    let options: PhotoInstancesOptions

    /// - Parameter lean: ignored; photos have no lean plan.
    func plan(lean: Bool) -> ItemPlan {
        let frame = model.frame(width: record.width, height: record.height)
        let input = frame.inputWidth * frame.inputHeight
        let pixels = record.width * record.height
        let overlay = OverlayDrawing.size(
            width: record.width,
            height: record.height,
            longestSide: options.overlaySide
        )
        return ItemPlan(
            buffers: [
                PlannedBuffer("picture", bytes: record.pictureBytes, from: .load, through: .write),
                PlannedBuffer(
                    "decoder",
                    bytes: max(record.decodingBytes - record.pictureBytes, 0),
                    from: .load,
                    through: .load
                ),
                PlannedBuffer(
                    "smaller picture",
                    bytes: 3 * frame.content.width * (record.height + frame.content.height),
                    from: .prepare,
                    through: .prepare
                ),
                PlannedBuffer("network input", bytes: 12 * input, from: .prepare, through: .infer),
                PlannedBuffer("network output", bytes: 2 * 12 * input, from: .infer, through: .finish),
                PlannedBuffer(
                    "splitting",
                    bytes: InstanceSplitter.predictedBytes(width: frame.inputWidth, height: frame.inputHeight)
                        + 12 * input,
                    from: .finish,
                    through: .finish
                ),
                PlannedBuffer("masks", bytes: 64 * record.width + (4 << 20), from: .finish, through: .write),
                PlannedBuffer(
                    "overlay",
                    bytes: overlay.width * overlay.height * 16 + 3 * overlay.width * record.height,
                    from: .render,
                    through: .write
                ),
                // Crops drawn and compressed at the same time cover the picture at most once.
                PlannedBuffer("crops", bytes: 20 * pixels, from: .write, through: .write),
            ],
            steps: 1,
            isLean: lean
        )
    }
}
