package import NocturneCore
package import NocturneFormats
import NocturneRecipeSupport

/// `report.pdf`: one page with the disclaimer on top, the picture, the attention map, risk, scores, and the metadata
/// given to the model.
package struct ClassificationReport {
    private let result: PhotoClassificationResult
    private let picture: RGBImage
    private let overlay: RGBImage?

    /// - Parameters:
    ///   - picture: the square given to the model.
    ///   - overlay: the same with the attention map; nil if there is none.
    package init(result: PhotoClassificationResult, picture: RGBImage, overlay: RGBImage?) {
        self.result = result
        self.picture = picture
        self.overlay = overlay
    }

    private let margin = PDFPage.margin

    /// Draws the page of a file, which the caller finishes. About 10 ms.
    /// - Throws: ``PDFError``; ``PictureError`` for pictures that cannot be encoded.
    package func page(writingTo path: String) throws -> PDFPage {
        let page = try PDFPage(title: "\(ReportText.reportTitle): \(result.item)", writingTo: path)
        var y = page.disclaimer(result.disclaimer, y: margin) + 26
        page.element(.heading(level: 1)) {
            page.text(ReportText.reportTitle, x: margin, y: y, size: 16, isBold: true)
        }
        y = source(on: page, y: y + 16)
        y = try pictures(on: page, y: y + 4)
        y = risk(on: page, y: y + 12)
        y = scores(on: page, y: y + 18)
        y = facts(on: page, y: y + 12)
        notes(on: page, y: y + 12)
        footer(on: page)
        return page
    }

    /// The photo and the model.
    private func source(on page: PDFPage, y start: Double) -> Double {
        var y = start
        let width = page.width - 2 * margin
        // Upright, as it is shown: orientations from 5 on exchange the sides.
        let sides = (result.source.widthPx, result.source.heightPx)
        let (pictureWidth, pictureHeight) = result.source.orientation < 5 ? sides : (sides.1, sides.0)
        let source = ReportText.picture(result.source.name, pictureWidth, pictureHeight)
        page.paragraph(page.shortened(source, width: width, size: 9), y: y, size: 9)
        y += 12
        // Shortened, like all that can have any length: the report has one page.
        let model = page.shortened(
            ReportText.model(result.model.name, result.model.version),
            width: width,
            size: 9,
            isBold: true
        )
        page.paragraph(model, y: y, size: 9, isBold: true)
        y += 12
        page.element(.paragraph) {
            // At most three lines, for the same reason.
            for line in page.lines(of: result.model.description, width: width, size: 8).prefix(3) {
                page.text(line, x: margin, y: y, size: 8, color: .quiet)
                y += 10
            }
        }
        return y
    }

    private func pictures(on page: PDFPage, y: Double) throws -> Double {
        // In points, as all lengths of the page: two pictures and the scale of the map lie next to each other.
        let side = 190.0
        let second = page.width / 2 + 6
        func place(_ image: RGBImage, x: Double, _ alternative: String) throws {
            try page.element(.figure(alternative: alternative)) {
                try page.image(image, in: PDFPage.Rectangle(x: x, y: y, width: side, height: side))
            }
        }
        var bottom = y + side + 14
        func caption(_ text: String, x: Double, width: Double) {
            let lines = page.lines(of: text, width: width, size: 8, atMost: 2)
            page.element(.paragraph) {
                for (index, line) in lines.enumerated() {
                    page.text(line, x: x, y: y + side + 11 + 10 * Double(index), size: 8, color: .quiet)
                }
            }
            bottom = max(bottom, y + side + 4 + 10 * Double(lines.count))
        }
        try place(picture, x: margin, ReportText.pictureAlternative(result.source.name))
        caption(ReportText.pictureCaption(isCorrected: result.isColorCorrected), x: margin, width: second - margin - 8)
        guard let overlay, let attention = result.attention else {
            page.paragraph(ReportText.noAttention, x: second, y: y + 12, size: 9, color: .quiet)
            return bottom
        }
        let title = result.title(of: attention.name)
        try place(overlay, x: second, ReportText.attentionAlternative(title))
        caption(ReportText.attentionCaption(title), x: second, width: page.width - margin - second)
        scale(on: page, x: second + side + 4, y: y, height: side)
        return bottom
    }

    /// The colours of the attention map, for the eye only.
    private func scale(on page: PDFPage, x: Double, y: Double, height: Double) {
        let steps = 48
        for step in 0..<steps {
            let color = AttentionMap.color(1 - (Float(step) + 0.5) / Float(steps)) / 255
            page.fill(
                PDFPage.Rectangle(
                    x: x + 2,
                    y: y + 12 + Double(step) * (height - 24) / Double(steps),
                    width: 9,
                    // Slightly taller, so that no line shows between two steps.
                    height: (height - 24) / Double(steps) + 0.3
                ),
                PDFPage.Color(red: Double(color.x), green: Double(color.y), blue: Double(color.z))
            )
        }
        page.text(ReportText.attentionHigh, x: x, y: y + 8, size: 7, color: .quiet)
        page.text(ReportText.attentionLow, x: x, y: y + height - 2, size: 7, color: .quiet)
    }

    private func risk(on page: PDFPage, y: Double) -> Double {
        let width = page.width - 2 * margin
        // A package without thresholds of risk has neither a level nor a sign.
        guard let risk = result.risk else {
            let lines = page.lines(of: result.summary, width: width, size: 10, isBold: true)
            page.element(.paragraph) {
                for (index, line) in lines.enumerated() {
                    page.text(line, x: margin, y: y + 10 + 13 * Double(index), size: 10, isBold: true)
                }
            }
            return y + 13 * Double(lines.count)
        }
        let riskLines = page.lines(of: risk.words, width: width - 70, size: 9)
        let summary = page.lines(of: result.summary, width: width - 70, size: 10, isBold: true)
        // All reasons are in result.json.
        let reasons = risk.reasons.prefix(4).map { reason in
            ReportText.reason(
                title: result.title(of: reason.name),
                probability: ClassScores.text(reason.probability),
                threshold: ClassScores.text(reason.threshold)
            )
        }
        // The frame is drawn before the text, so that its height has to be known first.
        let lineHeights = [12 * riskLines.count, 13 * summary.count, 11 * reasons.count]
        let height = 30 + Double(lineHeights.reduce(0, +))
        let color = risk.level.color
        page.outline(PDFPage.Rectangle(x: margin, y: y, width: width, height: height), color, lineWidth: 1.5)
        page.sign(risk.level, x: margin + 30, y: y + height / 2, size: 30)
        var line = y + 18
        page.element(.heading(level: 2)) {
            page.text(ReportText.riskTitle(risk.level), x: margin + 60, y: line, size: 12, isBold: true, color: color)
        }
        line += 15
        page.element(.paragraph) {
            for text in riskLines {
                page.text(text, x: margin + 60, y: line, size: 9)
                line += 12
            }
            // The class and its score, as large as in results without a level.
            for text in summary {
                page.text(text, x: margin + 60, y: line + 1, size: 10, isBold: true)
                line += 13
            }
        }
        for text in reasons {
            let shown = page.shortened(text, width: width - 70, size: 8)
            page.paragraph(shown, x: margin + 60, y: line, size: 8, color: .quiet)
            line += 11
        }
        return y + height
    }

    private func heading(_ text: String, on page: PDFPage, y: Double) {
        page.element(.heading(level: 2)) { page.text(text, x: margin, y: y, size: 10, isBold: true) }
    }

    private func scores(on page: PDFPage, y: Double) -> Double {
        heading(ReportText.scores, on: page, y: y)
        // The first nine classes; how many follow is stated.
        let shown = result.ranked.prefix(9)
        var line = y + 14
        page.element(.list) {
            for entry in shown {
                page.element(.listItem) { line = score(entry, on: page, y: line) }
            }
            guard result.classes.count > shown.count else { return }
            let more = ReportText.more(result.classes.count - shown.count)
            page.element(.listItem) { page.text(more, x: margin, y: line, size: 8, color: .quiet) }
            line += 11
        }
        return line - 6
    }

    /// One class with its bar; a long name has two lines.
    /// - Returns: where the next one begins.
    private func score(_ entry: PhotoClassificationResult.Class, on page: PDFPage, y line: Double) -> Double {
        let (left, right) = (margin + 215, page.width - margin - 40)
        let mark = entry.malignant ? "(\(ReportText.malignantMark))" : ""
        let markWidth = page.width(of: mark, size: 7)
        let names = page.lines(of: entry.title, width: 205 - markWidth, size: 8.5, atMost: 2)
        let last = line + 10 * Double(names.count - 1)
        for (index, name) in names.enumerated() {
            page.text(name, x: margin, y: line + 10 * Double(index), size: 8.5)
        }
        if entry.malignant {
            let start = margin + page.width(of: names.last ?? "", size: 8.5) + 4
            page.text(mark, x: start, y: last, size: 7, color: .quiet)
        }
        let bar = PDFPage.Rectangle(x: left, y: line - 7, width: right - left, height: 8)
        page.fill(bar, PDFPage.Color(gray: 0.92))
        page.fill(
            PDFPage.Rectangle(x: bar.x, y: bar.y, width: bar.width * entry.probability, height: bar.height),
            PDFPage.Color(entry.color) ?? .quiet
        )
        page.text(ClassScores.text(entry.probability), x: right + 8, y: line, size: 8.5)
        return last + 13
    }

    private func facts(on page: PDFPage, y: Double) -> Double {
        heading(ReportText.facts, on: page, y: y + 8)
        var text = ReportText.noFacts
        if let metadata = result.metadata {
            let age =
                metadata.ageYears.map { ClinicalMetadata.text(min($0, ClinicalMetadata.oldest)) } ?? ReportText.unknown
            text = [ReportText.age(age), ReportText.sex(metadata.sex), ReportText.site(metadata.site)].joined(
                separator: "   "
            )
        }
        let shown = page.shortened(text, width: page.width - 2 * margin, size: 8.5)
        page.paragraph(shown, y: y + 21, size: 8.5)
        return y + 23
    }

    private func notes(on page: PDFPage, y: Double) {
        heading(ReportText.notes, on: page, y: y + 8)
        let all = result.notes.isEmpty ? [ReportText.noNotes] : result.notes
        let lines = all.flatMap { page.lines(of: "– " + $0, width: page.width - 2 * margin, size: 8) }
        // Down to the footer.
        let lineCount = max(1, Int((page.height - margin - 34 - y - 12) / 10))
        page.element(.paragraph) {
            // Notes that do not fit are in result.json.
            for (index, line) in lines.prefix(lineCount).enumerated() {
                page.text(line, x: margin, y: y + 20 + 10 * Double(index), size: 8)
            }
        }
    }

    private func footer(on page: PDFPage) {
        let y = page.height - margin - 14
        page.line(from: SIMD2(margin, y - 10), to: SIMD2(page.width - margin, y - 10), PDFPage.Color(gray: 0.7))
        let colors = result.isColorCorrected ? ReportText.colorsCorrected : ReportText.colorsKept
        let prepared = result.preparation
        let lines = [
            ReportText.preparation(prepared.inputSizePx, isWhole: prepared.squarePx == nil, colors),
            ReportText.engine(result.engine.name, result.engine.precision, String(result.model.digest.prefix(16))),
        ]
        for (index, line) in lines.enumerated() {
            let shown = page.shortened(line, width: page.width - 2 * margin, size: 7)
            page.paragraph(shown, y: y + 9 * Double(index), size: 7, color: .quiet)
        }
    }
}
