import NocturneBatch
import NocturneFormats
import NocturneInference
import NocturneRecipeSupport
import NocturneVolumes

/// Plans every large buffer of a photo from its header alone.
struct PhotoSegmentationMemory {
    let record: PhotoRecord
    let model: PhotoSegmentationModel
    let options: PhotoSegmentationOptions

    /// - Parameter lean: ignored; photos have no lean plan.
    func plan(threads: Int, lean: Bool) throws -> ItemPlan {
        let networks = try model.plane.plan(width: record.width, height: record.height, threads: threads)
        let pixels = record.width * record.height
        let overlay = LabelOverlay.size(
            width: record.width,
            height: record.height,
            longestSide: options.overlaySide
        )
        let bits = LabelPNG.bits(for: model.package.labels.map(\.value).max() ?? 0)
        let own = [
            PlannedBuffer("picture", bytes: record.pictureBytes, from: .load, through: .write),
            PlannedBuffer(
                "decoder",
                bytes: max(record.decodingBytes - record.pictureBytes, 0),
                from: .load,
                through: .load
            ),
            PlannedBuffer(
                "overlay",
                bytes: overlay.width * overlay.height * 8 + 3 * overlay.width * record.height + (8 << 20),
                from: .render,
                through: .write
            ),
            PlannedBuffer(
                "label map as PNG",
                bytes: LabelPNG.writingBytes(width: record.width, height: record.height, bits: bits),
                from: .write,
                through: .write
            ),
            PlannedBuffer("masks", bytes: LabelMasks.plannedBytes(pixels: pixels), from: .write, through: .write),
        ]
        return ItemPlan(
            buffers: own + networks.buffers,
            steps: networks.steps,
            isLean: lean,
            diskBytes: pixels * bits / 8 + overlay.width * overlay.height * 3 + (1 << 20)
        )
    }
}
