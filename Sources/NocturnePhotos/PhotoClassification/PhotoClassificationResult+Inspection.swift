import NocturneBatch
import NocturneFormats
import NocturneJournal
import NocturneRecipeSupport
import NocturneSystem

extension PhotoClassificationResult: InspectableResult {
    var batchFiles: Set<String> { files.contains { $0.path == "report.pdf" } ? ["contact-sheet.pdf"] : [] }

    func inspectFiles(_ inspection: inout ItemInspection) throws {
        let sum = classes.reduce(0) { $0 + $1.probability }
        if classes.map(\.probability).max() != classes.first(where: { $0.name == leading })?.probability {
            inspection.add("result.json", "its leading class \(leading) does not have the highest score")
        }
        if !sum.isFinite { inspection.add("result.json", "the sum of its scores is not finite") }
        let side = ClassificationWriter.thumbnailSide
        try inspection.inspectPicture(ClassificationWriter.thumbnailFile, size: (side, side), of: "a thumbnail")
        let inputSide = preparation.inputSizePx
        try inspection.inspectPicture(
            ClassificationWriter.photoFile,
            size: (inputSide, inputSide),
            of: "the input of the model"
        )
        try inspection.inspectPicture("heatmap.png")
        try inspection.inspect("report.pdf") { inspection, path in
            if let detail = PDFPage.fault(at: path) { inspection.add("report.pdf", detail) }
        }
        guard let attention else { return }
        try inspection.inspect(attention.valuesFile, as: AttentionValues.schema) {
            (inspection, values: AttentionValues) in
            let isWhole = values.rows.count == values.height && values.rows.allSatisfy { $0.count == values.width }
            if !isWhole || (values.width, values.height) != (attention.width, attention.height) {
                inspection.add(
                    attention.valuesFile,
                    "does not have the \(attention.width)×\(attention.height) values that result.json states"
                )
            } else if values.rows.joined().min() != attention.minimum || values.rows.joined().max() != attention.maximum
                || values.name != attention.name
            {
                inspection.add(attention.valuesFile, "its class or range differs from result.json")
            }
        }
    }
}
