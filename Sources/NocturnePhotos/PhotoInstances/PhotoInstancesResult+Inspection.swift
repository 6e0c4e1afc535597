import NocturneCore
import NocturnePostprocess
import NocturneRecipeSupport

extension PhotoInstancesResult: InspectableResult {
    func inspectFiles(_ inspection: inout ItemInspection) throws {
        for instance in instances { inspect(instance, &inspection) }
        for instance in instances {
            if let reading = instance.reading { inspect(reading, of: instance.id, &inspection) }
        }
        for instance in instances where (instance.reading == nil) != (textModel == nil) {
            inspection.add(
                "result.json",
                "instance \(instance.id): it has a text without a model that reads text, or no text"
            )
        }
        for instance in instances {
            let (box, name) = (instance.box, "the box of instance \(instance.id)")
            if let crop = instance.crop { try inspection.inspectPicture(crop, size: (box.width, box.height), of: name) }
            if let crop = instance.uprightCrop { try inspection.inspectPicture(crop) }
            if let thumbnail = instance.thumbnail { try inspection.inspectPicture(thumbnail) }
        }
        // The format is an option: a file that the result does not list is passed over.
        for overlay in ["overlay.jpg", "overlay.png"] { try inspection.inspectPicture(overlay) }
        try inspection.inspect("coco.json", as: COCODocument.schema) { (inspection, document: COCODocument) in
            inspect(document, &inspection)
        }
    }

    /// Checks that the box lies in the picture, and that the mask has the recorded area and lies in the box.
    private func inspect(_ instance: Instance, _ inspection: inout ItemInspection) {
        let box = instance.box
        func fault(_ detail: String) { inspection.add("result.json", "instance \(instance.id): \(detail)") }
        guard box.fits(width: source.width, height: source.height) else {
            return fault("its box is not inside the picture of \(source.width)×\(source.height) pixels")
        }
        do {
            let mask = try RunLengthMask(
                // COCO gives the height before the width.
                width: instance.mask.size[1],
                height: instance.mask.size[0],
                cocoString: instance.mask.counts
            )
            if instance.mask.size != [source.height, source.width] {
                fault("its mask does not have the picture's size")
            } else if mask.area != instance.areaPixels {
                // One fault for each instance: a wrong area and a wrong box most often have one cause.
                fault("its mask has \(mask.area) pixels, not \(instance.areaPixels)")
            } else if mask.box != box {
                fault("its mask does not fill its box")
            }
        } catch {
            fault("its mask cannot be read: \(error)")
        }
    }

    /// Checks that the text is that of the lines.
    private func inspect(_ reading: Text, of instance: Int, _ inspection: inout ItemInspection) {
        if reading.text != reading.lines.map(\.text).joined(separator: " ") {
            inspection.add("result.json", "instance \(instance): its text is not that of its lines")
        }
        if (reading.confidence == nil) != reading.lines.isEmpty {
            inspection.add("result.json", "instance \(instance): its text has no confidence, or no lines")
        }
    }

    private func inspect(_ document: COCODocument, _ inspection: inout ItemInspection) {
        func fault(_ detail: String) { inspection.add("coco.json", detail) }
        if let detail = document.sizeFault(source) { fault(detail) }
        if document.annotations.count != instances.count {
            fault("has \(document.annotations.count) annotations, result.json has \(instances.count) instances")
        }
        let names = Dictionary(document.categories.map { ($0.id, $0.name) }) { first, _ in first }
        // The first of equal numbers: a dictionary of unique keys would end the program on a damaged result.
        let known = Dictionary(instances.map { ($0.id, $0) }) { first, _ in first }
        for annotation in document.annotations {
            guard let instance = known[annotation.id] else {
                fault("has an annotation \(annotation.id), which result.json does not list")
                continue
            }
            if annotation.bbox != instance.box.numbers {
                fault("the box of annotation \(annotation.id) differs from result.json")
            }
            if annotation.area != instance.areaPixels {
                fault(
                    "the area of annotation \(annotation.id) is \(annotation.area), its mask has \(instance.areaPixels)"
                )
            }
            if annotation.segmentation != instance.mask {
                fault("the mask of annotation \(annotation.id) differs from result.json")
            }
            if names[annotation.category_id] != instance.class {
                fault("the class of annotation \(annotation.id) differs from result.json")
            }
        }
    }
}
