import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturnePictures
import NocturneRecipeSupport
import NocturneSystem

extension SegmentationModel {
    /// The window of pictures if the image gives none: the package's window; else the bounds that the network sees,
    /// which also form a window; else percentiles, since the other normalization schemes have no bounds.
    var pictureWindow: PictureWindow {
        if let packageWindow = settings.window,
            let window = PictureWindow(center: packageWindow.center, width: packageWindow.width)
        {
            return window
        }
        let channels = parts[0].members[0].member.package.channels
        if case .ct(let lower, let upper, _, _) = channels[0].normalizations[0] {
            return .fixed(lower: lower, upper: upper)
        }
        return .percentiles
    }
}

extension PictureWindow {
    /// Nil for an empty window.
    init?(_ window: HeaderWindow) { self.init(lower: window.lower, upper: window.upper) }
}

extension HeaderWindow {
    /// The window of the middle slice, by DICOM's linear function; nil if the header has none.
    init?(_ series: DICOMSeries) {
        guard !series.slices.isEmpty else { return nil }
        let middle = series.slices[series.slices.count / 2]
        guard let center = middle.windowCenter, let width = middle.windowWidth, width > 1 else { return nil }
        let (lower, upper) = (center - 0.5 - (width - 1) / 2, center - 0.5 + (width - 1) / 2)
        guard lower.isFinite, upper.isFinite else { return nil }
        self.init(lower: lower, upper: upper)
    }
}

/// Writes the animated slices while the image is in memory.
enum SliceWriter {
    private static let millisecondsPerFrame = 80

    /// Bytes in addition to the volume and its labels: the frames that are drawn and compressed at the same time.
    static let workingBytes = AnimatedPNGWriter.predictedBytes(pixels: SliceStrip.maximumPixelCount)

    /// The name of the file for a plane; nil for the plane of acquisition.
    static func file(_ plane: SliceStrip.Plane?) -> String { plane.map { "slices-\($0.rawValue).png" } ?? "slices.png" }

    /// - Returns: The paths of the files, in the item's staging folder.
    /// - Throws: ``PictureError``, `FileSystemError`, and ``CancelledError``, which is checked before every frame.
    static func write(_ preview: Preview, _ planes: SlicePlanes, into context: StageContext) throws -> [String] {
        try FileSystem.makeFolder(context.staging)
        let chosen: [SliceStrip.Plane?] = planes == .all ? SliceStrip.Plane.allCases : [nil]
        return try chosen.map { plane in
            let strip = SliceStrip(preview, plane: plane)
            let path = context.staging + "/" + file(plane)
            try AnimatedPNGWriter(
                width: strip.width,
                height: strip.height,
                palette: strip.palette,
                frameCount: strip.frameCount,
                millisecondsPerFrame: millisecondsPerFrame
            ).write(to: path, cover: strip.cover(), scope: context.scope) {
                strip.frame($0)
            }
            return path
        }
    }
}
