import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneRecipeSupport
package import NocturneReport
package import NocturneSystem

/// `contact-sheet.pdf`: thumbnails of all photos of a batch with their leading class, their risk and the reason for it, the
/// highest risk first; as many pages as that takes.
package enum ContactSheet {
    /// Draws the sheet of finished photos and writes it.
    ///
    /// Reads every `result.json` (a few KB) and every thumbnail, and holds the pictures of one page. The same folders give the same bytes, in
    /// any order.
    /// - Parameter folders: of completed items. Folders without the result of a classified photo are skipped.
    /// - Returns: the number of photos; nothing is written if there are none.
    /// - Throws: `PDFError`, `FileSystemError`, `CancelledError`; for a thumbnail only transient errors.
    @discardableResult
    package static func write(
        folders: CompletedFolders,
        to path: String,
        flag: CancellationFlag = CancellationFlag()
    ) throws -> Int {
        var entries: [Entry] = []
        try folders { folder in
            try flag.check()
            guard FileSystem.exists(folder + "/result.json") else { return }
            let bytes = try FileSystem.read(folder + "/result.json")
            guard let result = try? JSONDecoder().decode(PhotoClassificationResult.self, from: Data(bytes))
            else { return }
            entries.append(Entry(folder: folder, result: result))
        }
        guard !entries.isEmpty else { return 0 }
        let document = try PDFPage(title: ReportText.contactSheetTitle, writingTo: path + ".part")
        try draw(entries.sorted(), on: document, flag: flag)
        try document.finish()
        try FileSystem.move(path + ".part", to: path)
        return entries.count
    }

    /// The part of a result that the sheet needs; thousands are held at a time.
    private struct Entry: Comparable {
        let folder: String
        let item: String
        let title: String
        let probability: Double
        let level: RiskAssessment.Level?
        /// Of the reason for the level; where there is none, of the leading class.
        let score: Double
        let reason: String?
        let model: String
        let disclaimer: String

        init(folder: String, result: PhotoClassificationResult) {
            self.folder = folder
            item = result.item
            let leading = result.classes.first { $0.name == result.leading }
            title = leading?.title ?? result.leading
            probability = leading?.probability ?? 0
            level = result.risk?.level
            let reason = result.risk?.reasons.max { $0.probability < $1.probability }
            score = reason?.probability ?? leading?.probability ?? 0
            self.reason = reason.map { reason in
                // The score of the leading class stands above it.
                guard reason.name != result.leading else { return ReportText.threshold(reason.threshold) }
                let title = result.classes.first { $0.name == reason.name }?.title ?? reason.name
                return ReportText.reason(title, reason.probability, from: reason.threshold)
            }
            model = ReportText.modelName(result.model.name, result.model.version)
            disclaimer = result.disclaimer
        }

        static func < (left: Entry, right: Entry) -> Bool {
            let (one, other) = (left.level ?? .low, right.level ?? .low)
            if one != other { return one > other }
            return left.score == right.score ? left.item < right.item : left.score > right.score
        }
    }

    private static let columns = 8
    /// For the four lines under a thumbnail.
    private static let textHeight = 46.0

    private static func draw(_ entries: [Entry], on page: PDFPage, flag: CancellationFlag) throws {
        let cell = (page.width - 2 * PDFPage.margin) / Double(columns)
        let top = heading(entries, on: page)
        let rows = max(Int((page.height - PDFPage.margin - top) / (cell + textHeight)), 1)
        let capacity = rows * columns
        let pages = (entries.count + capacity - 1) / capacity
        for (index, entry) in entries.enumerated() {
            try flag.check()
            let place = index % capacity
            if place == 0 {
                if index > 0 {
                    try page.nextPage()
                    _ = heading(entries, on: page)
                }
                let number = ReportText.page(index / capacity + 1, pages)
                let x = page.width - PDFPage.margin - page.width(of: number, size: 9)
                page.paragraph(number, x: x, y: page.height - 20, size: 9, color: .quiet)
            }
            try page.element(.section) {
                try draw(
                    entry,
                    on: page,
                    x: PDFPage.margin + cell * Double(place % columns),
                    y: top + (cell + textHeight) * Double(place / columns),
                    side: cell - 8
                )
            }
        }
    }

    /// What every page begins with.
    /// - Returns: where the pictures begin.
    private static func heading(_ entries: [Entry], on page: PDFPage) -> Double {
        let margin = PDFPage.margin
        var y = margin
        for disclaimer in Set(entries.map(\.disclaimer)).sorted() {
            y = page.disclaimer(disclaimer, y: y) + 6
        }
        y += 18
        page.element(.heading(level: 1)) {
            page.text(ReportText.contactSheetTitle, x: margin, y: y, size: 15, isBold: true)
        }
        y += 14
        let width = page.width - 2 * margin
        page.paragraph(ReportText.counts(entries.count), y: y, size: 9)
        y += 12
        let levels = RiskAssessment.Level.allCases.reversed().map { level in
            ReportText.riskCount(level, entries.count { $0.level == level })
        }
        if entries.contains(where: { $0.level != nil }) {
            let text = ReportText.riskCounts + " " + levels.joined(separator: ", ")
            page.paragraph(text, y: y, size: 9)
            y += 12
        }
        let models = Set(entries.map(\.model)).sorted().joined(separator: "; ")
        page.paragraph(page.shortened(ReportText.models(models), width: width, size: 9), y: y, size: 9)
        return y + 10
    }

    private static func draw(_ entry: Entry, on page: PDFPage, x: Double, y: Double, side: Double) throws {
        let place = PDFPage.Rectangle(x: x, y: y, width: side, height: side)
        try page.element(.figure(alternative: ReportText.pictureAlternative(entry.item))) {
            do {
                page.image(try PhotoReader.read(at: entry.folder + "/thumbnail.png").image, in: place)
            } catch let error as PhotoError where !error.isTransient {
                page.outline(place, .quiet)
            }
        }
        page.element(.paragraph) { texts(of: entry, on: page, x: x, y: y + side, width: side) }
    }

    /// What stands under the picture, from `y` on.
    private static func texts(of entry: Entry, on page: PDFPage, x: Double, y: Double, width: Double) {
        if let level = entry.level {
            page.sign(level, x: x + 5, y: y + 7, size: 9)
            let color = level.color
            page.text(level.rawValue, x: x + 12, y: y + 10, size: 7, isBold: true, color: color)
        }
        let score = ClassScores.text(entry.probability) + " " + entry.title
        page.text(page.shortened(score, width: width + 4, size: 6), x: x, y: y + 19, size: 6)
        let item = page.shortened(entry.item, width: width, size: 6)
        page.text(item, x: x, y: y + 27, size: 6, color: .quiet)
        if let reason = entry.reason {
            let text = page.shortened(reason, width: width + 4, size: 5)
            page.text(text, x: x, y: y + 34, size: 5, color: .quiet)
        }
    }
}
