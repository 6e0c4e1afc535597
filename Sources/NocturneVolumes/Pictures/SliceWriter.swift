import NocturneBatch
import NocturneFormats
import NocturnePictures

/// Writes the animated slices while the image is in memory.
enum SliceWriter {
    /// Some 12 slices a second.
    private static let millisecondsPerFrame = 80

    /// Bytes in addition to the volume and its labels: the frames that are drawn and compressed at the same time.
    static let workingBytes = AnimatedPNGWriter.predictedBytes(pixels: SliceStrip.maximumPixelCount)

    /// The name of the file for a plane; nil for the plane of acquisition.
    static func file(_ plane: SliceStrip.Plane?) -> String { plane.map { "slices-\($0.rawValue).png" } ?? "slices.png" }

    /// - Returns: the names of the files in the item's staging folder, which exists.
    /// - Throws: ``PictureError``, `FileSystemError`, and ``CancelledError``, which is checked before every frame.
    static func write(_ preview: Preview, _ planes: SlicePlanes, into context: StageContext) throws -> [String] {
        let chosen: [SliceStrip.Plane?] = planes == .all ? SliceStrip.Plane.allCases : [nil]
        return try chosen.map { plane in
            let strip = SliceStrip(preview, plane: plane)
            try AnimatedPNGWriter(
                width: strip.width,
                height: strip.height,
                palette: strip.palette,
                frameCount: strip.frameCount,
                millisecondsPerFrame: millisecondsPerFrame
            ).write(to: context.staging + "/" + file(plane), cover: strip.cover(), scope: context.scope) {
                strip.frame($0)
            }
            return file(plane)
        }
    }
}
