import NocturneCore
import NocturneFormats
import NocturnePostprocess
import NocturneRecipeSupport

extension PhotoSegmentationResult: InspectableResult {
    func inspectFiles(_ inspection: inout ItemInspection) throws {
        try inspection.inspectPicture(PhotoSegmentation.Writer.overlayFile)
        // Kept for the COCO document, which is compared with the label map and not only with the result.
        var masks: [UInt16: RunLengthMask]?
        try inspection.inspect(PhotoSegmentation.Writer.labelFile) { inspection, path in
            let map = try LabelPNG.read(path, pixels: source.width * source.height)
            masks = try inspect(map, &inspection)
        }
        try inspection.inspect(PhotoSegmentation.Writer.cocoFile, as: COCODocument.schema, limit: 1 << 30) {
            (inspection, document: COCODocument) in inspect(document, masks, &inspection)
        }
    }

    /// Compares the labels of the map with the numbers of the result.
    /// - Returns: the masks of its labels; nil for a map of another size.
    private func inspect(
        _ map: LabelPNG.Map,
        _ inspection: inout ItemInspection
    ) throws -> [UInt16: RunLengthMask]? {
        let file = PhotoSegmentation.Writer.labelFile
        guard (map.width, map.height) == (source.width, source.height) else {
            inspection.add(
                file,
                "has \(map.width)×\(map.height) pixels; the photo has \(source.width)×\(source.height)"
            )
            // Masks of another size cannot be compared with anything.
            return nil
        }
        if map.bits != labelMap.bitDepth {
            inspection.add(file, "has \(map.bits) bits a sample; result.json states \(labelMap.bitDepth)")
        }
        let masks = try map.labels.withUnsafeBufferPointer {
            try RunLengthMask.masks(of: $0, width: map.width, height: map.height, flag: inspection.flag)
        }
        for value in masks.keys.sorted() where !labels.contains(where: { $0.value == Int(value) }) {
            inspection.add(file, "has the value \(value), which is not a label of the model")
        }
        for label in labels {
            let mask = UInt16(exactly: label.value).flatMap { masks[$0] }
            if mask?.area ?? 0 != label.pixels {
                inspection.add(
                    file,
                    "has \(mask?.area ?? 0) pixels of \(label.name); result.json states \(label.pixels)"
                )
            }
            if mask?.box != label.box { inspection.add(file, "the box of \(label.name) differs from result.json") }
        }
        return masks
    }

    /// - Parameter masks: of the label map; nil if it could not be read.
    private func inspect(
        _ document: COCODocument,
        _ masks: [UInt16: RunLengthMask]?,
        _ inspection: inout ItemInspection
    ) {
        func fault(_ detail: String) { inspection.add(PhotoSegmentation.Writer.cocoFile, detail) }
        if let detail = document.sizeFault(source) { fault(detail) }
        if document.categories.map(\.id) != labels.map(\.value) || document.categories.map(\.name) != labels.map(\.name)
        {
            fault("its categories are not the labels of result.json")
        }
        let present = labels.filter { $0.pixels > 0 }
        // In the order of the labels, so that below each annotation is compared with its own label.
        guard document.annotations.map(\.category_id) == present.map(\.value) else {
            return fault("does not have one annotation for every label that was found")
        }
        for (annotation, label) in zip(document.annotations, present) {
            if annotation.area != label.pixels { fault("the area of \(label.name) differs from result.json") }
            if annotation.bbox != label.box?.numbers {
                fault("the box of \(label.name) differs from result.json")
            }
            guard let mask = UInt16(exactly: label.value).flatMap({ masks?[$0] }) else { continue }
            if annotation.segmentation != .init(mask) {
                fault("the mask of \(label.name) differs from the label map")
            }
        }
    }
}
