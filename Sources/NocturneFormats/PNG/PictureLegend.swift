public import NocturneCore

/// Names of labels with their colours, in a strip below a picture.
public struct PictureLegend: Sendable {
    /// A line of the legend.
    public struct Entry: Sendable {
        let text: String
        let color: SIMD3<UInt8>

        /// - Parameter color: red, green and blue.
        public init(text: String, color: SIMD3<UInt8>) {
            self.text = text
            self.color = color
        }
    }

    let entries: [Entry]

    /// More are counted only.
    static let mostEntries = 40
    /// Narrower pictures are placed on a wider ground, so that a name can be read.
    static let leastWidth = 240
    private static let ground = SIMD3<UInt8>(24, 24, 24)

    /// - Parameter entries: in the order in which they are shown.
    public init(entries: [Entry]) { self.entries = entries }

    /// The picture with the legend below it; the picture itself if there are no entries.
    public func drawn(below picture: RGBImage) -> RGBImage {
        guard !entries.isEmpty else { return picture }
        let width = max(picture.width, Self.leastWidth)
        let size = min(max(width / 60, 12), 22)
        var shown = Array(entries.prefix(Self.mostEntries))
        if entries.count > shown.count {
            shown.append(Entry(text: "and \(entries.count - shown.count) more", color: Self.ground))
        }
        let longest = shown.map(\.text.count).max() ?? 0
        // A letter is narrower than two thirds of the size of the font.
        let columnWidth = min(3 * size + longest * size * 2 / 3, width)
        let columns = max(width / columnWidth, 1)
        let rowHeight = 2 * size
        let rows = (shown.count + columns - 1) / columns
        var image = ground(width: width, height: picture.height + rows * rowHeight + size, below: picture)
        let text = PictureText(width: min(max(columnWidth - 2 * size, 1), 4096), size: Double(size))
        for (index, entry) in shown.enumerated() {
            let x = size / 2 + index % columns * columnWidth
            let y = picture.height + size / 2 + index / columns * rowHeight
            for row in y + size / 2..<y + size / 2 + size {
                for column in x..<min(x + size, width) { image[column, row] = entry.color }
            }
            text.draw(entry.text, in: &image, x: x + size * 3 / 2, y: y + size * 4 / 3)
        }
        return image
    }

    private func ground(width: Int, height: Int, below picture: RGBImage) -> RGBImage {
        var image = RGBImage(width: width, height: height)
        for pixel in 0..<width * height {
            for channel in 0..<3 { image.samples[3 * pixel + channel] = Self.ground[channel] }
        }
        for y in 0..<picture.height {
            let row = picture.samples[3 * y * picture.width..<3 * (y + 1) * picture.width]
            image.samples.replaceSubrange(3 * y * width..<3 * y * width + row.count, with: row)
        }
        return image
    }
}
