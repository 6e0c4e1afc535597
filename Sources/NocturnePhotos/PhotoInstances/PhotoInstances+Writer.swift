import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneNumerics
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem
import Synchronization

extension PhotoInstances {
    /// Writes the result files of a photo's instances.
    struct Writer {
        let model: PhotoInstancesModel
        let textModel: PhotoTextModel?
        let options: Options
        let drawn: PhotoInstances.DrawnPhoto
        let item: RecipeItem

        private var finished: PhotoInstances.FinishedPhoto { drawn.finished }
        private var photo: RGBImage { finished.photo.image }
        private var isDemonstration: Bool {
            model.package.isDemonstration || textModel?.chosen.package.isDemonstration == true
        }

        /// The files of one instance, relative to the item's folder.
        private struct Names {
            /// Nil when no crops are written.
            let crop: String?
            let upright: String?
            let thumbnail: String

            var all: [String] { [crop, upright, thumbnail].compactMap(\.self) }
        }

        private enum CropOutcome: Sendable {
            case files
            /// This instance has no crop; the others are unaffected.
            case refused(String)
            /// The item fails, and may be retried: a full disk, no memory.
            case failed(any Error)
        }

        /// Writes overlay, crops and COCO document, and `result.json` last, which lists them.
        /// - Throws: `FileSystemError`, `CancelledError`; errors of the formats, but for those of a single crop.
        func write(into folder: String, scope: ComputeScope) throws -> ItemProduct {
            let overlay = "overlay." + options.crops.pictures.fileExtension
            try options.crops.pictures.write(drawn.overlay, to: folder + "/" + overlay)
            var written = [overlay, "coco.json"]
            let outcomes = try writeCrops(into: folder, scope: scope)
            for (instance, outcome) in zip(finished.instances, outcomes) {
                if case .files = outcome { written += names(of: instance).all }
            }
            let entries = finished.instances.indices.map { entry(for: $0, outcomes[$0]) }
            try FileSystem.write(folder + "/coco.json", try StableJSON.encode(coco(entries)))
            // By name, so that the list does not depend on the order of writing.
            let files = try written.sorted().map { try ItemFile($0, in: folder) }
            let notes = finished.record.shown(finished.notes)
            let result = PhotoInstancesResult(
                schemaVersion: 1,
                task: model.package.task,
                disclaimer: Disclaimer.ofDemonstration(isDemonstration),
                item: item.name,
                fingerprint: item.fingerprint,
                source: .init(finished.photo.facts, name: finished.record.name),
                model: ResultModel(model.package),
                engine: finished.engine,
                textModel: textModel.map { ResultModel($0.chosen.package) },
                textEngine: finished.textEngine,
                options: options.inResults,
                rowCount: finished.rowCount,
                instances: entries,
                files: files,
                notes: notes.texts,
                noteCodes: notes.codes
            )
            var product = try result.write(into: folder, notes)
            product.objects = result.objects.isEmpty ? nil : result.objects
            return product
        }

        // MARK: Crops

        private func names(of instance: PhotoInstances.FoundInstance) -> Names {
            // With leading zeros, so that file managers sort the crops in reading order.
            let digits = String(instance.id)
            let number = String(repeating: "0", count: max(3 - digits.count, 0)) + digits
            let base = "\(finished.record.stem)_\(number)_\(name(of: instance))"
            let ending = options.crops.pictures.fileExtension
            let hasCrops = options.crops != .none
            return Names(
                crop: hasCrops ? "crops/\(base).\(ending)" : nil,
                upright: hasCrops ? "crops/\(base)_upright.\(ending)" : nil,
                thumbnail: "thumbnails/\(base).\(ending)"
            )
        }

        private func name(of instance: PhotoInstances.FoundInstance) -> String {
            model.settings.classes[instance.classIndex].name
        }

        /// Small crops in parallel, large ones alone, so that crops in progress never cover more than the photo.
        private func writeCrops(into folder: String, scope: ComputeScope) throws -> [CropOutcome] {
            let instances = finished.instances
            guard !instances.isEmpty else { return [] }
            if options.crops != .none { try FileSystem.makeFolder(folder + "/crops") }
            try FileSystem.makeFolder(folder + "/thumbnails")
            let photo = self.photo
            // Half of a thread's share of the photo: a crop and its upright copy are in memory together.
            let limit = photo.width * photo.height / (2 * max(scope.width, 1))
            let isLarge = instances.map { $0.box.width * $0.box.height > limit }
            let small = instances.indices.filter { !isLarge[$0] }
            let results = Mutex([Int: CropOutcome]())
            @Sendable func make(_ index: Int) {
                let outcome = write(instances[index], of: photo, into: folder)
                results.withLock { $0[index] = outcome }
            }
            try scope.forEach(small.count) { make(small[$0]) }
            for index in instances.indices where isLarge[index] {
                try scope.check()
                make(index)
            }
            let outcomes = results.withLock { found in instances.indices.map { found[$0] ?? .refused("was not drawn") }
            }
            // In the order of instances: the same error is thrown whichever thread met one first.
            for case .failed(let error) in outcomes { throw error }
            return outcomes
        }

        private func write(_ instance: PhotoInstances.FoundInstance, of photo: RGBImage, into folder: String)
            -> CropOutcome
        {
            let names = names(of: instance)
            do {
                let plain = CropDrawing.plain(instance, of: photo)
                if let crop = names.crop { try options.crops.write(plain, to: folder + "/" + crop) }
                let upright = CropDrawing.upright(instance, from: plain)
                if let name = names.upright { try options.crops.write(upright, to: folder + "/" + name) }
                let thumbnail = try CropDrawing.thumbnail(of: upright)
                try options.crops.pictures.write(thumbnail, to: folder + "/" + names.thumbnail)
                return .files
            } catch let error as PictureError where error.code == .invalidImage {
                // Some of the files may have been written before the fault; the result lists none of them.
                for path in names.all { FileSystem.remove(folder + "/" + path) }
                return .refused(error.detail)
            } catch {
                return .failed(error)
            }
        }

        // MARK: The result

        private func entry(for index: Int, _ outcome: CropOutcome) -> PhotoInstancesResult.Instance {
            let instance = finished.instances[index]
            let names = names(of: instance)
            let (box, rotated) = (instance.box, instance.rotated)
            var state = options.awaitsTexts ? ItemPart.State.enriching : .ready
            var reason: String?
            if case .refused(let detail) = outcome { (state, reason) = (.failed, detail) }
            let isWritten = state != .failed
            let (width, height) = (Double(photo.width), Double(photo.height))
            return PhotoInstancesResult.Instance(
                id: instance.id,
                row: instance.row,
                class: name(of: instance),
                confidence: instance.confidence.map { Double($0).inMillionths },
                box: box,
                boxNormalized: .init(
                    x: (Double(box.x) / width).inMillionths,
                    y: (Double(box.y) / height).inMillionths,
                    width: (Double(box.width) / width).inMillionths,
                    height: (Double(box.height) / height).inMillionths
                ),
                rotatedBox: .init(
                    center: [rotated.centre.x.inMillionths, rotated.centre.y.inMillionths],
                    width: rotated.width.inMillionths,
                    height: rotated.height.inMillionths,
                    degrees: rotated.degrees,
                    corners: rotated.corners.map { [$0.x.inMillionths, $0.y.inMillionths] }
                ),
                areaPixels: instance.area,
                mask: .init(instance.mask),
                state: state,
                reason: reason,
                crop: isWritten ? names.crop : nil,
                uprightCrop: isWritten ? names.upright : nil,
                thumbnail: isWritten ? names.thumbnail : nil,
                reading: finished.texts.map { reading($0[index], of: instance) }
            )
        }

        private func reading(_ reading: PhotoTextModel.Reading, of instance: PhotoInstances.FoundInstance)
            -> PhotoInstancesResult.Text
        {
            PhotoInstancesResult.Text(
                text: reading.text,
                confidence: reading.confidence.map(\.inMillionths),
                turn: reading.turn.rawValue,
                lines: reading.lines.map { line in
                    PhotoInstancesResult.TextLine(
                        text: line.text,
                        confidence: line.confidence.inMillionths,
                        corners: line.corners.map { corner in
                            // Lines were read on the upright crop; in the result they lie on the photo, like boxes.
                            let point = CropDrawing.place(of: corner, inUpright: instance)
                            return [point.x.inMillionths, point.y.inMillionths]
                        }
                    )
                }
            )
        }

        /// Categories count from 1: readers of COCO files take 0 for the background.
        private func coco(_ entries: [PhotoInstancesResult.Instance]) -> COCODocument {
            let annotations = zip(finished.instances, entries).map { instance, entry in
                COCODocument.Annotation(
                    id: entry.id,
                    category: instance.classIndex + 1,
                    box: entry.box,
                    area: entry.areaPixels,
                    mask: entry.mask,
                    score: entry.confidence
                )
            }
            let categories = model.settings.classes.enumerated().map {
                COCODocument.Category(id: $0.offset + 1, name: $0.element.name)
            }
            return COCODocument(model.package, finished.record.name, of: photo, annotations, categories)
        }
    }
}
