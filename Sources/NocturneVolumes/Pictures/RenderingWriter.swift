import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneOutput
import NocturnePictures
import NocturneSystem

/// Writes the renderings of a volume while the image is in memory.
enum RenderingWriter {
    static let stillFile = "rendering.png"
    static let turnFile = "rendering-turn.png"
    /// Some 8 views a second.
    private static let millisecondsPerFrame = 120

    /// Bytes in addition to the volume and its labels.
    static func workingBytes(_ shape: VolumeShape, threads: Int) -> Int {
        VolumeRendering.predictedBytes(shape, threads: threads)
            + AnimatedPNGWriter.predictedBytes(pixels: VolumeRendering.maximumFramePixelCount, hasPalette: false)
    }

    /// The size of both files at most: half of their pixels.
    static let diskBytes = VolumeRendering.maximumFramePixelCount * 3 * (VolumeRendering.frameCount + 8) / 2

    /// Why a preset cannot be used; nil if it can. Intensities of images other than CT are not Hounsfield units; a NIfTI
    /// file does not state what it is.
    /// - Parameter source: the image; nil for labels without one, which are drawn alone.
    static func refusal(_ preset: RenderingPreset, _ source: VolumeSource?) -> Note? {
        guard let source, preset.needsHounsfieldUnits, source.isHounsfield == false, let modality = source.modality
        else {
            return nil
        }
        let found = source.valueType.map { "\(modality) with values of type \($0)" } ?? modality
        return .missing("rendering", because: "\(own: preset.rawValue) is for CT in HU, and this is \(found)")
    }

    /// - Returns: the names of the files in the item's staging folder, which exists.
    /// - Throws: ``PictureError``, `FileSystemError`, `AllocationError`, and ``CancelledError``, which is checked before every
    ///   row and every frame.
    static func write(
        _ preset: RenderingPreset,
        of content: PictureContent,
        drawnAs pictures: Preview,
        into context: StageContext
    ) throws -> [String] {
        let rendering = try VolumeRendering(
            pictures.volume,
            labels: content.labelled == nil ? nil : content.labels,
            colors: pictures.colors,
            function: content.image == nil ? .invisible : preset.transferFunction(for: pictures.volume),
            scope: context.scope
        )
        var legend = PictureLegend(entries: content.entries)
        legend.facts = [Disclaimer.short]
        let still = legend.drawn(below: try rendering.still(scope: context.scope))
        try PNGWriter.write(still, to: context.staging + "/" + stillFile)
        let size = rendering.frameSize
        try AnimatedPNGWriter(
            width: size.width,
            height: size.height,
            palette: nil,
            frameCount: VolumeRendering.frameCount,
            millisecondsPerFrame: millisecondsPerFrame
        ).write(
            to: context.staging + "/" + turnFile,
            cover: rendering.frame(0).samples,
            scope: context.scope
        ) { rendering.frame($0).samples }
        return [stillFile, turnFile]
    }
}
