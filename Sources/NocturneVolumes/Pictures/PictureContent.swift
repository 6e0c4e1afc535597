import Foundation
import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturnePictures
import NocturneRecipeSupport
import NocturneSystem

/// What the pictures of an item show: an image, labels on its grid, and measured regions.
struct PictureContent {
    /// Nil for labels without an image, which are drawn on black.
    let image: (source: VolumeSource, volume: Volume)?
    /// Nil for an image without labels.
    var labels: LabelVolume?
    var colors: [UInt16: LabelColor] = [:]
    /// Names and colours of the labels that some voxel has, in the order in which they are listed.
    var entries: [PictureLegend.Entry] = []
    /// The box of all labels; nil where no voxel has one.
    var labelled: VoxelBox?
    /// Of the labels' areas in slices, from 0 to 1.
    var labelOpacity = 0.0
    /// For which the model, or else the preset of the rendering, was made; empty without either.
    var modalities: [String] = []
    /// Where neither the options nor the image's header state a window: that of the model's package; nil without one.
    var fallback: PictureWindow?
    var regions = MeasuredRegions()
    /// Of measured intensities, in which the options state a window and the legend shows it.
    var unit = MeasuredUnit(nil)

    /// - Throws: `AllocationError` for the black that labels without an image are drawn on.
    func preview(_ options: PictureOptions) throws -> Preview {
        var preview = Preview(
            volume: try image?.volume ?? Self.black(labels),
            labels: labels,
            colors: colors.mapValues(\.components),
            window: image.map {
                options.window?.pictureWindow(scale: unit.scale) ?? header($0.source) ?? fallback ?? usual
            }
                ?? .fixed(lower: 0, upper: 1),
            labelled: labelled,
            drawsSurface: options.preview == .full
        )
        preview.labelOpacity = labelOpacity
        return preview
    }

    /// Whether intensities are Hounsfield units, as the file states; NIfTI files state nothing, but a model or a
    /// rendering for CT alone takes the values of any file for such units.
    var isCT: Bool { image?.source.isHounsfield ?? (image != nil && modalities == ["CT"]) }

    /// Scale and position of the slices, the window where an image is shown, and the labels.
    func legend(of drawing: Preview.Drawing, _ range: (lower: Double, upper: Double)) -> PictureLegend {
        var legend = PictureLegend(entries: entries, scale: drawing.pixelsPerMm)
        if image != nil {
            let (center, width) = shownWindow(range)
            let name = (isCT ? "HU" : unit.shown).map { " " + $0 } ?? ""
            legend.facts.append("W \(Self.short(width * unit.scale)) L \(Self.short(center * unit.scale))\(name)")
        }
        if let crossing = drawing.crossing {
            let place = (0..<3).map { Preview.position(crossing[$0], $0) }.joined(separator: ", ")
            legend.facts.append("slices cross at \(place) mm")
        } else {
            legend.facts.append("positions in mm")
        }
        legend.facts.append(Disclaimer.short)
        return legend
    }

    /// The window of the header in the numbers of the header, which a viewer shows, too; another one by its range.
    private func shownWindow(_ range: (lower: Double, upper: Double)) -> (center: Double, width: Double) {
        if let source = image?.source, source.format == .dicom, let window = source.window, let own = header(source),
            own == PictureWindow(lower: range.lower, upper: range.upper)
        {
            return window.stated
        }
        return ((range.upper + range.lower) / 2, range.upper - range.lower)
    }

    /// Three digits, or all before the point.
    private static func short(_ value: Double) -> String {
        String(format: abs(value) < 100 && value != value.rounded() ? "%.3g" : "%.0f", value)
    }

    /// In CT, percentiles would make one grey of all soft tissue; so would the bounds of a network's intensities.
    private var usual: PictureWindow { isCT ? WindowChoice.softTissue.pictureWindow : .percentiles }

    private func header(_ source: VolumeSource) -> PictureWindow? { source.window.flatMap(PictureWindow.init) }

    private static func black(_ labels: LabelVolume?) throws -> Volume {
        guard let labels else { preconditionFailure("pictures show an image or labels") }
        let count = labels.geometry.shape.count
        return Volume(geometry: labels.geometry, voxels: try VoxelBuffer<Float>(count: count).frozen())
    }
}

/// The pictures of an item in staging, drawn while its image was in memory.
struct StagedPictures: Sendable {
    /// Names of files in ``folder``.
    let files: [String]
    let folder: String
    /// Nil if it was not requested.
    let review: StagedReviewVolume?
    /// The intensities that the slices show as black and as white, in the unit of the image.
    let range: (lower: Double, upper: Double)
    /// Why something that was asked for is missing.
    let notes: [Note]

    /// Moves the pictures into an item's new folder.
    /// - Returns: the names of the files.
    func move(into target: String) throws -> [String] {
        for file in files { try FileSystem.move(folder + "/" + file, to: target + "/" + file) }
        return files
    }

    /// Writes the volume that the page shows, if it was requested, with the surfaces of labels that the page can read.
    /// - Parameter folder: the item's new folder, with its surfaces.
    /// - Returns: the names of the files.
    func writeReview(into folder: String, item: String, labels: [ReviewParts.Label]) throws -> [String] {
        guard let review else { return [] }
        let surfaces = labels.compactMap { label in label.mesh.map { (label: label, file: $0) } }
        try review.write(into: folder, item: item, surfaces: surfaces)
        return [ReviewParts.volumeFile]
    }
}

extension PictureOptions {
    /// Draws what is asked for into staging.
    /// - Throws: ``PictureError``, `FileSystemError`, `AllocationError`, and ``CancelledError``, which is checked at least once a
    ///   second.
    func draw(_ content: PictureContent, into context: StageContext) throws -> StagedPictures {
        try FileSystem.makeFolder(context.staging)
        var content = content
        if content.modalities.isEmpty, rendering.preset?.needsHounsfieldUnits == true { content.modalities = ["CT"] }
        let pictures = try content.preview(self)
        let range = pictures.shownRange
        var files: [String] = []
        var notes: [Note] = []
        if preview != .none {
            let drawing = try pictures.drawing(scope: context.scope)
            let image = content.legend(of: drawing, range).drawn(below: drawing.image)
            try PNGWriter.write(image, to: context.staging + "/" + PictureFiles.preview)
            files.append(PictureFiles.preview)
        }
        if drawsSlices { files += try SliceWriter.write(pictures, planes, into: context) }
        if preview != .none, !content.regions.regions.isEmpty {
            files.append(try content.regions.writePicture(pictures, unit: content.unit.shown, into: context))
            notes += [content.regions.pictureNote].compactMap(\.self)
        }
        if let preset = rendering.preset {
            if let refusal = RenderingWriter.refusal(preset, content.image?.source) {
                notes.append(refusal)
            } else {
                files += try RenderingWriter.write(preset, of: content, drawnAs: pictures, into: context)
            }
        }
        return StagedPictures(
            files: files,
            folder: context.staging,
            review: try reviewVolume(content, pictures, context),
            range: range,
            notes: notes
        )
    }

    private func reviewVolume(
        _ content: PictureContent,
        _ pictures: Preview,
        _ context: StageContext
    ) throws -> StagedReviewVolume? {
        guard review == .volumes else { return nil }
        let intensities = ReviewVolume.Intensities(
            isCT: content.isCT,
            header: content.image?.source.window,
            model: content.fallback
        )
        return try ReviewVolume.stage(pictures.volume, labels: content.labels, intensities, into: context)
    }

    // MARK: Memory and disk

    /// The buffers besides the image and its labels.
    func buffers(_ shape: VolumeShape, hasRegions: Bool, threads: Int) -> [PlannedBuffer] {
        var buffers = [
            PlannedBuffer(
                "pictures",
                bytes: (preview == .none ? 0 : Preview.predictedBytes(shape, threads: threads))
                    + (drawsSlices ? SliceWriter.workingBytes : 0)
                    + (!hasRegions || preview == .none ? 0 : RegionPicture.workingBytes),
                in: .finish
            )
        ]
        if rendering != .none {
            let bytes = RenderingWriter.workingBytes(shape, threads: threads)
            buffers.append(PlannedBuffer("rendering", bytes: bytes, in: .finish))
        }
        if review == .volumes {
            let bytes = ReviewVolume.workingBytes(shape)
            buffers.append(PlannedBuffer("review volume", bytes: bytes, from: .finish, through: .write))
        }
        return buffers
    }

    /// Of the files.
    func diskBytes(_ shape: VolumeShape) -> Int {
        (drawsSlices ? shape.count / 4 * (planes == .all ? 3 : 1) : 0)
            + (review == .volumes ? ReviewVolume.workingBytes(shape) : 0)
            + (rendering == .none ? 0 : RenderingWriter.diskBytes)
    }
}
