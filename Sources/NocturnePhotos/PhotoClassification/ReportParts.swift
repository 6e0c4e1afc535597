import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneRecipeSupport
import NocturneReport
import NocturneSystem

/// Common parts of the report and the contact sheet: the disclaimer on top, and risk signs that differ in shape and
/// text, not only in colour.
enum ReportParts {
    static let margin = 42.0
    static let ink = PDFColor(gray: 0.1)
    static let quiet = PDFColor(gray: 0.38)

    /// Draws the disclaimer in a frame across the page.
    /// - Returns: the y coordinate of the frame's end.
    static func disclaimer(_ text: String, on page: PDFPage, y: Double) -> Double {
        let inner = page.width - 2 * margin - 20
        let lines = page.lines(of: text, width: inner, size: 9)
        let height = 24 + 12 * Double(lines.count) + 6
        let frame = PDFRectangle(x: margin, y: y, width: page.width - 2 * margin, height: height)
        page.fill(frame, PDFColor(gray: 0.94))
        page.outline(frame, ink, lineWidth: 1.2)
        page.element(.paragraph) {
            page.text(ReportText.disclaimerTitle, x: margin + 10, y: y + 16, size: 10, isBold: true)
            for (index, line) in lines.enumerated() {
                page.text(line, x: margin + 10, y: y + 30 + 12 * Double(index), size: 9)
            }
        }
        return y + height
    }

    /// A triangle with an exclamation mark for high, a diamond for moderate, a disc for low.
    static func sign(_ level: RiskLevel, on page: PDFPage, x: Double, y: Double, size: Double) {
        let half = size / 2
        switch level {
        case .high:
            page.fill(
                polygon: [SIMD2(x - half, y + half), SIMD2(x + half, y + half), SIMD2(x, y - half)],
                color(of: level)
            )
            let width = size * 0.12
            page.fill(
                PDFRectangle(x: x - width / 2, y: y - size * 0.16, width: width, height: size * 0.36),
                PDFColor(gray: 1)
            )
            page.fill(
                PDFRectangle(x: x - width / 2, y: y + size * 0.27, width: width, height: width),
                PDFColor(gray: 1)
            )
        case .moderate:
            page.fill(
                polygon: [SIMD2(x, y - half), SIMD2(x + half, y), SIMD2(x, y + half), SIMD2(x - half, y)],
                color(of: level)
            )
        case .low: page.fillCircle(center: SIMD2(x, y), radius: half * 0.8, color(of: level))
        }
    }

    /// From the palette of Okabe and Ito.
    static func color(of level: RiskLevel) -> PDFColor {
        switch level {
        case .high: PDFColor(red: 0.835, green: 0.369, blue: 0)
        case .moderate: PDFColor(red: 0.7, green: 0.48, blue: 0)
        case .low: PDFColor(red: 0, green: 0.447, blue: 0.698)
        }
    }

    static func color(_ text: String) -> PDFColor {
        guard let color = LabelColor(text) else { return quiet }
        return PDFColor(red: Double(color.red) / 255, green: Double(color.green) / 255, blue: Double(color.blue) / 255)
    }
}
