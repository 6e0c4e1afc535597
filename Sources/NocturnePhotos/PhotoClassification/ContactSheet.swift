import Foundation
import NocturneFormats
import NocturneRecipeSupport
package import NocturneReport
package import NocturneSystem

/// `contact-sheet.pdf`: thumbnails of all photos of a batch with their leading class, their risk and the reason for it, the
/// highest risk first; as many pages as that takes.
package enum ContactSheet {
    /// Its name in the output folder of a batch.
    static let file = "contact-sheet.pdf"

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
        let level: PhotoClassificationResult.Risk.Level?
        /// Of the reason for the level; where there is none, of the leading class.
        let score: Double
        let reason: String?
        let model: String
        let disclaimer: String

        init(folder: String, result: PhotoClassificationResult) {
            self.folder = folder
            item = result.item
            let leading = result.classes.first { $0.name == result.leading }
            title = result.title(of: result.leading)
            probability = leading?.probability ?? 0
            level = result.risk?.level
            let reason = result.risk?.reasons.max { $0.probability < $1.probability }
            score = reason?.probability ?? leading?.probability ?? 0
            self.reason = reason.map { reason in
                // The score of the leading class stands above it.
                let level = result.risk?.level.rawValue ?? ""
                guard reason.name != result.leading else { return ReportText.threshold(level, reason.threshold) }
                return ReportText.reason(result.title(of: reason.name), reason.probability, from: reason.threshold)
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

    /// The places of pictures on a page: as large as all photos of a small batch fit on one page.
    private struct Grid {
        let columns: Int
        let rows: Int
        /// The side of a place without its text, in points.
        let cell: Double
        /// Of texts, in that of eight columns.
        let textScale: Double
        /// For the six lines under a thumbnail.
        var textHeight: Double { Self.textHeight * textScale }
        private static let textHeight = 54.0

        private init(_ columns: Int, width: Double, height: Double) {
            self.columns = columns
            cell = width / Double(columns)
            textScale = min(8 / Double(columns), 1.6)
            rows = max(Int(height / (cell + Self.textHeight * textScale)), 1)
        }

        static func fitting(_ count: Int, width: Double, height: Double) -> Grid {
            let grids = (4...8).map { Grid($0, width: width, height: height) }
            return grids.first { $0.columns * $0.rows >= count } ?? grids[grids.count - 1]
        }
    }

    private static func draw(_ entries: [Entry], on page: PDFPage, flag: CancellationFlag) throws {
        let top = heading(entries, on: page)
        let grid = Grid.fitting(
            entries.count,
            width: page.width - 2 * PDFPage.margin,
            height: page.height - PDFPage.margin - top
        )
        let (columns, cell) = (grid.columns, grid.cell)
        let capacity = grid.rows * columns
        let pages = (entries.count + capacity - 1) / capacity
        for (index, entry) in entries.enumerated() {
            try flag.check()
            let place = index % capacity
            // The heading of the first page is there already, since the grid depends on its height.
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
                    y: top + (cell + grid.textHeight) * Double(place / columns),
                    grid
                )
            }
        }
    }

    /// What every page begins with.
    /// - Returns: where the pictures begin.
    private static func heading(_ entries: [Entry], on page: PDFPage) -> Double {
        let margin = PDFPage.margin
        var y = margin
        // Results of several models can have different ones. Each is there once, sorted, as sets have no order.
        for disclaimer in Set(entries.map(\.disclaimer)).sorted() {
            y = page.disclaimer(disclaimer, y: y) + 6
        }
        y += 18
        page.element(.heading(level: 1)) {
            page.text(ReportText.contactSheetTitle, x: margin, y: y, size: 15, isBold: true)
        }
        y += 14
        let width = page.width - 2 * margin
        page.paragraph(ReportText.counts(entries.count, byRisk: entries.contains { $0.level != nil }), y: y, size: 9)
        y += 12
        // The highest risk first, as it is what a reader looks for.
        let levels = PhotoClassificationResult.Risk.Level.allCases.reversed().map { level in
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

    private static func draw(_ entry: Entry, on page: PDFPage, x: Double, y: Double, _ grid: Grid) throws {
        let side = grid.cell - 8
        let place = PDFPage.Rectangle(x: x, y: y, width: side, height: side)
        try page.element(.figure(alternative: ReportText.pictureAlternative(entry.item))) {
            do {
                try page.image(PhotoReader.read(at: entry.folder + "/thumbnail.png").image, in: place)
            } catch let error as PhotoError where !error.isTransient {
                // A damaged thumbnail leaves an empty frame: the other results are still shown.
                page.outline(place, .quiet)
            }
        }
        page.element(.paragraph) { texts(of: entry, on: page, x: x, y: y + side, grid) }
    }

    /// What stands under the picture, from `y` on.
    private static func texts(of entry: Entry, on page: PDFPage, x: Double, y: Double, _ grid: Grid) {
        let (width, scale) = (grid.cell - 8, grid.textScale)
        if let level = entry.level {
            page.sign(level, x: x + 5 * scale, y: y + 7 * scale, size: 9 * scale)
            let color = level.color
            page.text(level.rawValue, x: x + 12 * scale, y: y + 10 * scale, size: 7 * scale, isBold: true, color: color)
        }
        let score = ClassScores.text(entry.probability) + " " + entry.title
        var line = y + 19 * scale
        for (index, text) in page.lines(of: score, width: width + 4, size: 6 * scale, atMost: 3).enumerated() {
            if index > 0 { line += 7 * scale }
            page.text(text, x: x, y: line, size: 6 * scale)
        }
        line += 8 * scale
        let item = page.shortened(entry.item, width: width, size: 6 * scale)
        page.text(item, x: x, y: line, size: 6 * scale, color: .quiet)
        if let reason = entry.reason {
            let text = page.shortened(reason, width: width + 4, size: 5 * scale)
            page.text(text, x: x, y: line + 7 * scale, size: 5 * scale, color: .quiet)
        }
    }
}
