public import NocturneCore

/// A strip below a picture: a bar of a round length, facts about the picture, and names of labels with their colours.
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
    /// Pixels per mm; nil for a picture without one scale.
    let scale: Double?
    /// Short texts, shown from left to right.
    public var facts: [String] = []

    /// More are counted only.
    static let mostEntries = 40
    /// Narrower pictures are placed on a wider ground, so that a name can be read.
    static let leastWidth = 240
    /// Facts widen the ground of a narrow picture, up to this width in pixels.
    private static let mostFactWidth = 640
    private static let ground = SIMD3<UInt8>(24, 24, 24)

    /// - Parameters:
    ///   - entries: in the order in which they are shown.
    ///   - scale: of the picture, in pixels per mm.
    public init(entries: [Entry], scale: Double? = nil) {
        self.entries = entries
        self.scale = scale
    }

    /// The picture with the legend below it; the picture itself if there is nothing to show.
    public func drawn(below picture: RGBImage) -> RGBImage {
        guard !entries.isEmpty || !facts.isEmpty || scale != nil else { return picture }
        let least = max(picture.width, Self.leastWidth)
        let size = min(max(least / 60, 12), 22)
        let width = max(least, min(facts.map { Self.width($0, size) }.max() ?? 0, Self.mostFactWidth) + size)
        let facts = placedFacts(width, size)
        let factRows = (facts.last?.row ?? -1) + 1
        var shown = Array(entries.prefix(Self.mostEntries))
        // The row of this count would hold a single further entry.
        if entries.count == shown.count + 1 {
            shown = entries
        } else if entries.count > shown.count {
            shown.append(Entry(text: "and \(entries.count - shown.count) more", color: Self.ground))
        }
        let longest = shown.map(\.text.count).max() ?? 0
        // A letter is narrower than two thirds of the size of the font.
        let columnWidth = min(3 * size + longest * size * 2 / 3, width)
        let columns = max(width / columnWidth, 1)
        let rowHeight = 2 * size
        let rows = factRows + (shown.count + columns - 1) / columns
        var image = ground(width: width, height: picture.height + rows * rowHeight + size, below: picture)
        let top = picture.height + size / 2
        draw(facts, top, size, in: &image)
        let text = PictureText(width: min(max(columnWidth - 2 * size, 1), 4096), size: Double(size))
        for (index, entry) in shown.enumerated() {
            let x = size / 2 + index % columns * columnWidth
            let y = top + (factRows + index / columns) * rowHeight
            for row in y + size / 2..<y + size / 2 + size {
                for column in x..<min(x + size, width) { image[column, row] = entry.color }
            }
            text.draw(entry.text, in: &image, x: x + size * 3 / 2, y: y + size * 4 / 3)
        }
        return image
    }

    /// A fact at its column and row of the strip; `bar`: the length in pixels of the bar before it.
    private typealias PlacedFact = (text: String, bar: Int, x: Int, row: Int)

    /// The width of a text in pixels: digits and small letters are narrower than three fifths of the size of the font.
    private static func width(_ text: String, _ size: Int) -> Int { text.count * size * 3 / 5 }

    private func placedFacts(_ width: Int, _ size: Int) -> [PlacedFact] {
        var facts = facts.map { (text: $0, bar: 0) }
        if let scale, let bar = Self.bar(atMost: Double(width / 4) / scale), bar.mm * scale >= 1 {
            facts.insert((bar.text, Int((bar.mm * scale).rounded())), at: 0)
        }
        var placed: [PlacedFact] = []
        var (x, row) = (size / 2, 0)
        for fact in facts {
            let needed = fact.bar + (fact.bar > 0 ? size / 2 : 0) + Self.width(fact.text, size)
            if x > size / 2, x + needed > width { (x, row) = (size / 2, row + 1) }
            placed.append((fact.text, fact.bar, x, row))
            x += needed + 2 * size
        }
        return placed
    }

    /// The longest length for a bar: 1, 2 or 5 times a power of ten, from 0.01 mm to 1 m; nil where none fits.
    public static func bar(atMost millimetres: Double) -> (mm: Double, text: String)? {
        let steps: [Double] = [0.01, 0.1, 1, 10, 100]
        let lengths: [Double] = steps.flatMap { step in [step, 2 * step, 5 * step] } + [1000]
        guard let length = lengths.last(where: { $0 <= millimetres }) else { return nil }
        return (length, "\(length < 1 ? "\(length)" : "\(Int(length))") mm")
    }

    private func draw(_ facts: [PlacedFact], _ top: Int, _ size: Int, in image: inout RGBImage) {
        let text = PictureText(width: min(image.width, 4096), size: Double(size))
        for fact in facts {
            let y = top + fact.row * 2 * size
            for column in 0..<fact.bar {
                // A line with ticks at its ends.
                let rows = column == 0 || column == fact.bar - 1 ? y + size / 2...y + size * 3 / 2 : y + size...y + size
                for row in rows { image[fact.x + column, row] = SIMD3(repeating: 230) }
            }
            let x = fact.x + fact.bar + (fact.bar > 0 ? size / 2 : 0)
            text.draw(fact.text, in: &image, x: x, y: y + size * 4 / 3)
        }
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
