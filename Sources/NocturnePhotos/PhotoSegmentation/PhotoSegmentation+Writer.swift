import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneNumerics
import NocturneOutput
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

extension PhotoSegmentation {
    /// Writes the result files of a photo's label map.
    struct Writer {
        let model: PhotoSegmentationModel
        let options: Options
        let drawn: PhotoSegmentation.DrawnPhoto
        let item: RecipeItem

        /// As PNG, which is lossless: values of pixels are values of labels.
        static let labelFile = "labels.png"
        /// For the eye only, so JPEG, which takes a fraction of the bytes of PNG.
        static let overlayFile = "overlay.jpg"
        /// For tools that read annotations in the format of COCO.
        static let cocoFile = "coco.json"
        private static let overlayQuality = 90

        private var finished: PhotoSegmentation.FinishedPhoto { drawn.finished }
        private var image: RGBImage { finished.photo.image }

        /// Writes label map, overlay and COCO document, and `result.json` last, which lists them.
        /// - Throws: `FileSystemError`, `CancelledError`; errors of the formats.
        func write(into folder: String, scope: ComputeScope) throws -> ItemProduct {
            // By the largest label of the package, so that all photos of a batch have maps of one kind.
            let bits = LabelPNG.bits(for: model.package.labels.map(\.value).max() ?? 0)
            try LabelPNG.write(
                finished.labels.voxels,
                width: image.width,
                height: image.height,
                bits: bits,
                to: folder + "/" + Self.labelFile
            )
            try JPEGWriter.write(drawn.overlay, quality: Self.overlayQuality, to: folder + "/" + Self.overlayFile)
            try FileSystem.write(folder + "/" + Self.cocoFile, try StableJSON.encode(coco(scope)))
            let files = try [Self.cocoFile, Self.labelFile, Self.overlayFile].map { try ItemFile($0, in: folder) }
            let notes = finished.record.shown(allNotes)
            let result = PhotoSegmentationResult(
                schemaVersion: 1,
                task: model.package.task,
                disclaimer: Disclaimer.marked(isDemonstration: model.package.isDemonstration),
                item: item.name,
                fingerprint: item.fingerprint,
                source: .init(finished.photo.facts, name: finished.record.name),
                model: ResultModel(model.package),
                engine: finished.engine,
                options: options.inResults,
                labelMap: .init(file: Self.labelFile, bitDepth: bits),
                labels: finished.entries,
                files: files,
                notes: notes.texts,
                noteCodes: notes.codes
            )
            return try result.write(into: folder, notes)
        }

        private var allNotes: [Note] {
            let absent = finished.entries.filter { $0.pixels == 0 }.map(\.name)
            return finished.notes + (absent.isEmpty ? [] : [.notFound(absent)])
        }

        /// One annotation for every label that is there; categories have the values of the labels.
        private func coco(_ scope: ComputeScope) throws -> COCODocument {
            let masks = try finished.labels.voxels.withUnsafeBufferPointer {
                try RunLengthMask.masks(of: $0, width: image.width, height: image.height, flag: scope.flag)
            }
            let present = finished.entries.filter { $0.pixels > 0 }
            let annotations = present.enumerated().compactMap { index, label -> COCODocument.Annotation? in
                guard let box = label.box, let mask = masks[UInt16(label.value)] else { return nil }
                return .init(
                    id: index + 1,
                    category: label.value,
                    box: box,
                    area: label.pixels,
                    mask: .init(mask),
                    score: label.confidence?.meanProbability
                )
            }
            let categories = model.package.labels.map { COCODocument.Category(id: Int($0.value), name: $0.name) }
            return COCODocument(model.package, finished.record.name, of: image, annotations, categories)
        }
    }
}
