import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

extension PhotoInstances {
    /// One instance in a photo.
    struct FoundInstance: Sendable {
        /// From 1, in reading order.
        let id: Int
        /// From 1, from the top.
        let row: Int
        /// Index of the class in the package.
        let classIndex: Int
        /// 0...1; nil for a whole picture without detected instances.
        let confidence: Float?
        /// Of the upright photo's size.
        let mask: RunLengthMask
        /// Around the mask, along the sides of the photo.
        let box: PixelBox
        let rotated: RotatedBox
        /// Pixels of the mask.
        let area: Int
    }
}

/// From the network's outputs to instances on the photo's own grid, and to the overlay.
extension PhotoInstances {
    /// A photo with its instances.
    package struct FinishedPhoto: Sendable {
        let record: PhotoRecord
        let photo: Photo
        let instances: [FoundInstance]
        /// The text on each instance; nil without a package that reads text.
        let texts: [PhotoTextModel.Reading]?
        /// Rows in reading order, such as shelves.
        let rowCount: Int
        let engine: ResultEngine
        /// What ran the networks that read text.
        let textEngine: ResultEngine?
        let notes: [Note]
    }

    /// The instances in a photo, and what a user should know about them.
    struct DecodedPhoto: Sendable {
        let instances: [FoundInstance]
        let notes: [Note]
    }

    func finish(_ inferred: consuming InferredPhoto, _ item: RecipeItem, _ context: StageContext) throws
        -> FinishedPhoto
    {
        let reading = inferred.reading
        let decoded = try reading?.decoded ?? decode(inferred, context.scope)
        var notes = inferred.photo.facts.allNotes() + inferred.used.notes
        notes += reading?.notes ?? []
        notes += decoded.notes
        return FinishedPhoto(
            record: inferred.record,
            photo: inferred.photo,
            instances: decoded.instances,
            texts: reading?.texts,
            rowCount: decoded.instances.map(\.row).max() ?? 0,
            engine: inferred.used.engine,
            textEngine: reading?.engine,
            notes: notes
        )
    }

    /// The instances that the network's outputs describe; with the fallback to a single item, the whole picture where there are
    /// none.
    func decode(_ inferred: InferredPhoto, _ scope: ComputeScope) throws -> DecodedPhoto {
        let model = try model(inferred.record.model)
        var notes: [Note] = []
        var ordered: [FoundInstance] = []
        var note = Note("instances.none", "nothing was found")
        if let failure = inferred.failure {
            note = Note("instances.networkFailed", "the network cannot be run: \(failure)")
        } else {
            do {
                let found = try Reading(model: model, frame: inferred.frame, scope: scope)
                    .instances(inferred.outputs)
                notes += found.notes
                ordered = PhotoInstances.ordered(found.instances)
            } catch let error as NetworkOutputError {
                note = Note("instances.unusableOutput", "the network's output cannot be used: \(error)")
                guard options.usesSingleItemFallback else {
                    throw NetworkOutputError(path: inferred.record.path, detail: note.description)
                }
            }
        }
        if ordered.isEmpty {
            if options.usesSingleItemFallback {
                ordered = [PhotoInstances.whole(inferred.photo.image)]
                note = Note(note.code, note.sentence + "; the whole picture is one item")
            }
            notes.append(note)
        }
        return DecodedPhoto(instances: ordered, notes: notes)
    }

    /// Numbered row by row, left to right.
    private static func ordered(_ found: [DetectionDecoder.Instance]) -> [FoundInstance] {
        let placed = found.compactMap { instance -> (DetectionDecoder.Instance, PixelBox, RotatedBox)? in
            guard let box = instance.mask.box, let rotated = RotatedBox(around: instance.mask) else { return nil }
            return (instance, box, rotated)
        }
        var instances: [FoundInstance] = []
        for (row, members) in ReadingOrder(placed.map(\.1)).rows.enumerated() {
            for index in members {
                let (instance, box, rotated) = placed[index]
                instances.append(
                    FoundInstance(
                        id: instances.count + 1,
                        row: row + 1,
                        classIndex: instance.classIndex,
                        confidence: instance.confidence,
                        mask: instance.mask,
                        box: box,
                        rotated: rotated,
                        area: instance.mask.area
                    )
                )
            }
        }
        return instances
    }

    private static func whole(_ image: RGBImage) -> FoundInstance {
        let box = PixelBox(x: 0, y: 0, width: image.width, height: image.height)
        return FoundInstance(
            id: 1,
            row: 1,
            classIndex: 0,
            confidence: nil,
            mask: RunLengthMask(width: image.width, height: image.height, box: box),
            box: box,
            rotated: RotatedBox(box: box),
            area: image.width * image.height
        )
    }

    /// With the overlay, the picture that a reviewer sees first.
    package struct DrawnPhoto: Sendable {
        let finished: FinishedPhoto
        let overlay: RGBImage
    }

    func render(_ finished: consuming FinishedPhoto, _ item: RecipeItem, _ context: StageContext) throws
        -> DrawnPhoto
    {
        let overlay = try OverlayDrawing.draw(
            finished.instances,
            on: finished.photo.image,
            longestSide: options.overlay.side,
            flag: context.scope.flag
        )
        return DrawnPhoto(finished: finished, overlay: overlay)
    }

    func write(
        _ drawn: consuming DrawnPhoto,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        let model = try model(drawn.finished.record.model)
        return try Writer(model: model, textModel: textModel, options: options, drawn: drawn, item: item)
            .write(into: folder, scope: context.scope)
    }
}
