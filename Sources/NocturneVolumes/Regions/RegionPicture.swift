import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturnePictures
import NocturnePostprocess
import NocturneSystem

/// Draws `regions.png`: every measured region on the image, in the plane that shows it, with its figures.
///
/// Panels are in the order of the file of regions. Each shows three times the extent of its region, at least 60 mm and at
/// most the whole volume, with a scale bar. Only the voxels that are shown are read.
struct RegionPicture {
    /// In an item's folder.
    static let file = "regions.png"
    /// More regions are measured, and not drawn.
    static let maximumCount = 48

    /// Of a panel, in pixels.
    private static let side = 300
    /// Panels in a row.
    private static let columns = 4
    private static let lineHeight = 18
    private static let titleHeight = 24
    private static let outline = SIMD3<UInt8>(255, 214, 0)
    private static var cellWidth: Int { side + 2 * PlanePanel.margin }
    private static var cellHeight: Int { titleHeight + side + 2 * PlanePanel.margin + 4 * lineHeight + 8 }
    /// In mm.
    private static let smallestView = 60.0

    /// Bytes of the picture with all its panels, and of its compression.
    static let workingBytes =
        3 * cellWidth * columns * cellHeight * ((maximumCount + columns - 1) / columns) * 3 + side * side * 24

    let image: Volume
    let window: PictureWindow
    /// Of the intensities, such as HU; nil where it is not known.
    let unit: String?

    /// - Parameter regions: at most ``maximumCount`` are drawn.
    func draw(_ regions: [(RegionOfInterest, RegionMeasurement)], scope: ComputeScope) throws(CancelledError)
        -> RGBImage
    {
        let shown = regions.prefix(Self.maximumCount)
        let columns = min(Self.columns, max(1, shown.count))
        let rows = max(1, (shown.count + columns - 1) / columns)
        var sheet = RGBImage(width: columns * Self.cellWidth, height: rows * Self.cellHeight)
        let title = PictureText(width: Self.cellWidth - 8, size: 15)
        let text = PictureText(width: Self.cellWidth - 8, size: 13)
        for (place, (region, measured)) in shown.enumerated() {
            try scope.check()
            let (x, y) = (place % columns * Self.cellWidth, place / columns * Self.cellHeight)
            title.draw(region.name, in: &sheet, x: x + 6, y: y + 18, isBold: true)
            let view = RegionView(of: region, in: image.geometry)
            if let view, measured.status != .outside, measured.status != .notMeasured {
                draw(view, text, in: &sheet, x: x + PlanePanel.margin, y: y + Self.titleHeight + PlanePanel.margin)
            }
            let below = y + Self.titleHeight + Self.side + 2 * PlanePanel.margin + 14
            for (line, words) in RegionCaption(measured, plane: view?.plane, unit: unit).lines.enumerated() {
                text.draw(words, in: &sheet, x: x + 6, y: below + line * Self.lineHeight)
            }
        }
        return sheet
    }

    private func draw(_ view: RegionView, _ text: PictureText, in sheet: inout RGBImage, x: Int, y: Int) {
        let geometry = image.geometry
        let whole = (0..<3).map { Double(geometry.shape[$0]) * length(geometry.affine.column($0)) }.max() ?? 1
        let extent = view.extent.isFinite ? view.extent : whole
        let millimetres = min(max(3 * extent, Self.smallestView), max(whole, 1.1 * extent))
        let panel = PlanePanel(
            center: view.center,
            right: view.right,
            down: view.down,
            pixelSize: millimetres / Double(Self.side),
            size: (Self.side, Self.side)
        )
        var picture = panel.image(of: image, window: window)
        panel.drawOutline(in: &picture, color: Self.outline, inside: view.contains)
        for (first, second) in zip(view.line, view.line.dropFirst()) {
            panel.drawLine(from: first, to: second, in: &picture, color: Self.outline)
        }
        drawScaleBar(of: millimetres, text, in: &picture)
        panel.place(picture, in: &sheet, x: x, y: y)
    }

    /// Of a round length that fits into a third of the view.
    private func drawScaleBar(of millimetres: Double, _ text: PictureText, in picture: inout RGBImage) {
        guard let bar = PictureLegend.bar(atMost: millimetres / 3) else { return }
        let pixels = Int((bar.mm / millimetres * Double(Self.side)).rounded())
        let (left, bottom) = (8, Self.side - 8)
        for x in left - 1...left + pixels {
            for y in bottom - 3...bottom + 1 {
                let isEdge = x < left || x == left + pixels || y < bottom - 2 || y > bottom
                picture[x, y] = isEdge ? .zero : SIMD3(repeating: 255)
            }
        }
        for (dx, dy) in [(-1, 0), (1, 0), (0, -1), (0, 1)] {
            text.draw(bar.text, in: &picture, x: left + dx, y: bottom - 8 + dy, color: .zero)
        }
        text.draw(bar.text, in: &picture, x: left, y: bottom - 8, color: SIMD3(repeating: 255))
    }
}

/// The figures of a measured region in up to four lines, as ``RegionPicture`` shows them.
struct RegionCaption: Equatable {
    let lines: [String]

    /// - Parameters:
    ///   - plane: of the view, in words.
    ///   - unit: of the intensities.
    init(_ measured: RegionMeasurement, plane: String?, unit: String?) {
        switch measured.status {
        case .outside:
            lines = ["\(measured.kind): lies outside the volume"]
            return
        case .notMeasured:
            lines = ["\(measured.kind): not measured", measured.problem ?? ""]
            return
        case .complete, .cut: break
        }
        let sizes = [
            measured.length.map { Self.figure($0) + " mm" },
            measured.angle.map { Self.figure($0) + "°" },
            measured.area.map { Self.figure($0) + " mm²" },
            measured.volume.map { $0 < 1000 ? Self.figure($0) + " mm³" : Self.figure($0 / 1000) + " ml" },
        ]
        let samples = measured.sampleCount.map { "\($0) \(measured.sampleSpacing == nil ? "voxels" : "samples")" }
        var lines = [([measured.kind] + (sizes + [samples]).compactMap { $0 }).joined(separator: ", ")]
        if let intensity = measured.intensity {
            let unit = unit.map { " " + $0 } ?? ""
            lines.append("mean \(Self.figure(intensity.mean))\(unit), SD \(Self.figure(intensity.standardDeviation))")
            lines.append(
                "median \(Self.figure(intensity.median)), "
                    + "\(Self.figure(intensity.minimum)) to \(Self.figure(intensity.maximum))"
            )
        }
        let edge = measured.status == .cut ? "cut by the edge of the volume" : nil
        let view = [plane, edge].compactMap { $0 }.joined(separator: ", ")
        if !view.isEmpty { lines.append(view) }
        self.lines = lines
    }

    /// Two decimals below 10, one below 1000, none above.
    static func figure(_ value: Double) -> String {
        let decimals = abs(value) < 10 ? 2 : abs(value) < 1000 ? 1 : 0
        return String(format: "%.\(decimals)f", value)
    }
}
