import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneRecipeSupport
public import NocturneSystem

/// `contact-sheet.pdf`: one page of thumbnails of a batch's photos with their leading class and risk, the highest risk
/// first.
public enum ContactSheet {
    /// Maximum number of photos on the page.
    public static let capacity = 40

    /// Draws the sheet of finished photos and writes it.
    ///
    /// Reads every `result.json` (a few KB) and the thumbnails that are shown. The same folders give the same bytes, in
    /// any order.
    /// - Parameter folders: of completed items. Folders without the result of a classified photo are skipped.
    /// - Returns: the number of photos; nothing is written if there are none.
    /// - Throws: `PDFError`, `FileSystemError`, `CancelledError`; for a thumbnail only transient errors.
    @discardableResult
    public static func write(
        folders: [String],
        to path: String,
        flag: CancellationFlag = CancellationFlag()
    ) throws -> Int {
        var entries: [Entry] = []
        for folder in folders {
            try flag.check()
            guard FileSystem.exists(folder + "/result.json") else { continue }
            let bytes = try FileSystem.read(folder + "/result.json")
            guard let result = try? JSONDecoder().decode(PhotoClassificationResult.self, from: Data(bytes))
            else { continue }
            entries.append(Entry(folder: folder, result: result))
        }
        guard !entries.isEmpty else { return 0 }
        try page(entries.sorted(), flag: flag).write(to: path + ".part")
        try FileSystem.move(path + ".part", to: path)
        return entries.count
    }

    /// The part of a result that the sheet needs; thousands are held at a time.
    private struct Entry: Comparable {
        let folder: String
        let item: String
        let title: String
        let probability: Double
        let level: RiskLevel?
        let model: String
        let disclaimer: String

        init(folder: String, result: PhotoClassificationResult) {
            self.folder = folder
            item = result.item
            let leading = result.classes.first { $0.name == result.leading }
            title = leading?.title ?? result.leading
            probability = leading?.probability ?? 0
            level = result.risk?.level
            model = ReportText.modelName(result.model.name, result.model.version)
            disclaimer = result.disclaimer
        }

        static func < (left: Entry, right: Entry) -> Bool {
            left.level == right.level ? left.item < right.item : (left.level ?? .low) > (right.level ?? .low)
        }
    }

    private static func page(_ entries: [Entry], flag: CancellationFlag) throws -> PDFPage {
        let margin = ReportParts.margin
        let page = PDFPage(title: ReportText.contactSheetTitle)
        let shown = Array(entries.prefix(capacity))
        var y = margin
        for disclaimer in Set(entries.map(\.disclaimer)).sorted() {
            y = ReportParts.disclaimer(disclaimer, on: page, y: y) + 6
        }
        y += 18
        page.text(ReportText.contactSheetTitle, x: margin, y: y, size: 15, isBold: true)
        y += 14
        let width = page.width - 2 * margin
        page.text(ReportText.counts(entries.count, shown.count), x: margin, y: y, size: 9)
        y += 12
        let levels = RiskLevel.allCases.reversed().map { level in
            ReportText.riskCount(level, entries.count { $0.level == level })
        }
        if entries.contains(where: { $0.level != nil }) {
            page.text(ReportText.riskCounts + " " + levels.joined(separator: ", "), x: margin, y: y, size: 9)
            y += 12
        }
        let models = Set(entries.map(\.model)).sorted().joined(separator: "; ")
        page.text(page.shortened(ReportText.models(models), width: width, size: 9), x: margin, y: y, size: 9)
        y += 10
        let columns = 8
        let cell = width / Double(columns)
        for (index, entry) in shown.enumerated() {
            try flag.check()
            try draw(
                entry,
                on: page,
                x: margin + cell * Double(index % columns),
                y: y + (cell + 40) * Double(index / columns),
                side: cell - 8
            )
        }
        return page
    }

    private static func draw(_ entry: Entry, on page: PDFPage, x: Double, y: Double, side: Double) throws {
        let place = PDFRectangle(x: x, y: y, width: side, height: side)
        do {
            page.image(try PhotoReader.read(at: entry.folder + "/thumbnail.png").image, in: place)
        } catch let error as PhotoError where !error.isTransient {
            page.outline(place, ReportParts.quiet)
        }
        if let level = entry.level {
            ReportParts.sign(level, on: page, x: x + 5, y: y + side + 7, size: 9)
            let color = ReportParts.color(of: level)
            page.text(level.rawValue, x: x + 12, y: y + side + 10, size: 7, isBold: true, color: color)
        }
        let score = ClassScores.text(entry.probability) + " " + entry.title
        page.text(page.shortened(score, width: side + 4, size: 6), x: x, y: y + side + 19, size: 6)
        page.text(
            page.shortened(entry.item, width: side, size: 6),
            x: x,
            y: y + side + 27,
            size: 6,
            color: ReportParts.quiet
        )
    }
}
