import NocturneCore
package import NocturneFormats

/// What the report and the contact sheet share: the disclaimer on top, and signs of risk that differ in shape and text, not
/// only in colour.
extension PDFPage {
    static let margin = 42.0

    /// A paragraph of one line with its baseline at `y`.
    func paragraph(
        _ line: String,
        x: Double = PDFPage.margin,
        y: Double,
        size: Double,
        isBold: Bool = false,
        color: Color = .ink
    ) {
        element(.paragraph) { text(line, x: x, y: y, size: size, isBold: isBold, color: color) }
    }

    /// The text in at most `count` lines; of what the last one cannot hold, the middle is left out.
    package func lines(of text: String, width: Double, size: Double, atMost count: Int) -> [String] {
        let all = lines(of: text, width: width, size: size)
        guard all.count > count else { return all }
        let rest = all.dropFirst(count - 1).joined(separator: " ")
        return all.prefix(count - 1) + [shortened(rest, width: width, size: size)]
    }

    /// Draws the disclaimer in a frame across the page.
    /// - Returns: the y coordinate of the frame's end.
    func disclaimer(_ disclaimer: String, y: Double) -> Double {
        let inner = width - 2 * Self.margin - 20
        let lines = lines(of: disclaimer, width: inner, size: 9)
        let height = 24 + 12 * Double(lines.count) + 6
        let frame = Rectangle(x: Self.margin, y: y, width: width - 2 * Self.margin, height: height)
        fill(frame, Color(gray: 0.94))
        outline(frame, .ink, lineWidth: 1.2)
        element(.paragraph) {
            text(ReportText.disclaimerTitle, x: Self.margin + 10, y: y + 16, size: 10, isBold: true)
            for (index, line) in lines.enumerated() {
                text(line, x: Self.margin + 10, y: y + 30 + 12 * Double(index), size: 9)
            }
        }
        return y + height
    }

    /// A triangle with an exclamation mark for high, a diamond for moderate, a disc for low.
    func sign(_ level: PhotoClassificationResult.Risk.Level, x: Double, y: Double, size: Double) {
        let half = size / 2
        switch level {
        case .high:
            fill(
                polygon: [SIMD2(x - half, y + half), SIMD2(x + half, y + half), SIMD2(x, y - half)],
                level.color
            )
            let width = size * 0.12
            fill(
                Rectangle(x: x - width / 2, y: y - size * 0.16, width: width, height: size * 0.36),
                Color(gray: 1)
            )
            fill(
                Rectangle(x: x - width / 2, y: y + size * 0.27, width: width, height: width),
                Color(gray: 1)
            )
        case .moderate:
            fill(
                polygon: [SIMD2(x, y - half), SIMD2(x + half, y), SIMD2(x, y + half), SIMD2(x - half, y)],
                level.color
            )
        case .low: fillCircle(center: SIMD2(x, y), radius: half * 0.8, level.color)
        }
    }
}

extension PhotoClassificationResult.Risk.Level {
    /// From the palette of Okabe and Ito.
    var color: PDFPage.Color {
        switch self {
        case .high: PDFPage.Color(red: 0.835, green: 0.369, blue: 0)
        case .moderate: PDFPage.Color(red: 0.7, green: 0.48, blue: 0)
        case .low: PDFPage.Color(red: 0, green: 0.447, blue: 0.698)
        }
    }
}

extension PDFPage.Color {
    /// Of texts; the colour that pages have by default.
    static let ink = PDFPage.Color(gray: 0.1)
    /// Of what is read second.
    static let quiet = PDFPage.Color(gray: 0.38)

    /// - Parameter text: `#rrggbb`.
    init?(_ text: String) {
        guard let color = LabelColor(text) else { return nil }
        self.init(red: Double(color.red) / 255, green: Double(color.green) / 255, blue: Double(color.blue) / 255)
    }
}
