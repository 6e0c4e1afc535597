import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem
import NocturneVolumes

/// The last three stages: clean and measure labels, draw the overlay, write files.
extension PhotoSegmentation {
    /// A photo with its cleaned labels and what was measured on them.
    package struct FinishedPhoto: Sendable {
        let record: PhotoRecord
        let photo: Photo
        let labels: LabelVolume
        /// All labels of the package, in its order.
        let entries: [PhotoSegmentationResult.Label]
        let engine: ResultEngine
        let notes: [Note]
    }

    /// Cleans the labels and measures them, with the mean colour of each.
    func finish(
        _ inferred: consuming InferredPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> FinishedPhoto {
        let model = try model(inferred.record.model)
        let scope = context.scope
        let (labels, cleaning) = try model.plane.cleaned(inferred.labels, scope: scope)
        let image = inferred.photo.image
        let measurements = try LabelMeasurement.measure(
            labels: labels,
            // Measures of intensities are for volumes; colours are summed below.
            image: nil,
            values: model.package.labels.map(\.value),
            connectivity: .corners,
            scope: scope
        )
        let colors = try Self.colorSums(labels.voxels, on: image, flag: scope.flag)
        let entries = zip(model.package.labels, measurements).map { label, measured in
            PhotoSegmentationResult.Label(
                label,
                measured,
                color: colors[label.value] ?? .zero,
                of: image,
                confidence: inferred.confidence[label.value],
                cleaning: cleaning.first { $0.value == label.value }
            )
        }
        return FinishedPhoto(
            record: inferred.record,
            photo: inferred.photo,
            labels: labels,
            entries: entries,
            engine: inferred.used.engine,
            notes: inferred.used.notes
                + inferred.photo.facts.allNotes(takesColours: model.settings.input == .colors)
        )
    }

    /// With the overlay, the picture that a reviewer sees first.
    package struct DrawnPhoto: Sendable {
        let finished: FinishedPhoto
        let overlay: RGBImage
    }

    func render(
        _ finished: consuming FinishedPhoto,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> DrawnPhoto {
        let model = try model(finished.record.model)
        let overlay = Overlay(
            labels: model.package.labels,
            entries: finished.entries,
            longestSide: options.overlay.side
        )
        let picture = try overlay.draw(finished.labels.voxels, on: finished.photo.image, flag: context.scope.flag)
        return DrawnPhoto(finished: finished, overlay: picture)
    }

    func write(
        _ drawn: consuming DrawnPhoto,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        let model = try model(drawn.finished.record.model)
        return try Writer(model: model, options: options, drawn: drawn, item: item)
            .write(into: folder, scope: context.scope)
    }
}
