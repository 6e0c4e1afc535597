import NocturneCore
import NocturneFormats

/// The letters of the six directions, in the font of all pictures.
enum OrientationLetters {
    /// Of the box in the middle of which a letter stands, in pixels.
    static let width = 14
    static let height = 13

    /// Pixels between a panel and its letters.
    private static let gap = 3
    /// The space around a panel that its letters take.
    static let margin = height + 2 * gap + 1

    /// How much of every pixel of its box a letter covers, from 0 to 255, row by row.
    private static let coverages = Dictionary(uniqueKeysWithValues: "RLAPSI".map { ($0, coverage(of: $0)) })

    /// Capitals of 18 pixels are 13 pixels high.
    private static func coverage(of letter: Character) -> [UInt8] {
        let room = 2 * width
        var image = RGBImage(width: room, height: height)
        PictureText(width: width, size: 18).draw(
            String(letter),
            in: &image,
            x: width / 2,
            y: height,
            color: SIMD3(repeating: 255)
        )
        let columns = (0..<room).filter { x in (0..<height).contains { image[x, $0].x > 0 } }
        guard let first = columns.first, let last = columns.last else { return [] }
        let start: Int = min(max((first + last + 1 - width) / 2, 0), room - width)
        return (0..<height).flatMap { y in (0..<width).map { image[start + $0, y].x } }
    }

    /// Draws four letters outside the left, right, top and bottom edge of a panel, at the middle of each.
    static func draw(
        _ letters: String,
        around panel: (columns: Range<Int>, rows: Range<Int>),
        in image: inout RGBImage
    ) {
        let (columns, rows) = panel
        let x = columns.lowerBound + (columns.count - width) / 2
        let y = rows.lowerBound + (rows.count - height) / 2
        let places = [
            (columns.lowerBound - gap - width, y), (columns.upperBound + gap, y),
            (x, rows.lowerBound - gap - height), (x, rows.upperBound + gap),
        ]
        draw(Array(zip(letters, places)), in: &image)
    }

    /// Draws the letters of ``placed(_:width:height:)`` in an image.
    static func draw(_ letters: String, inside image: inout RGBImage) {
        draw(placed(letters, width: image.width, height: image.height), in: &image)
    }

    private static func draw(_ placed: [(Character, (Int, Int))], in image: inout RGBImage) {
        for (letter, place) in placed {
            forEachPixel(letter, place, of: (image.width, image.height)) { x, y, share in
                var color = image[x, y]
                for channel in 0..<3 { color[channel] = mixed(color[channel], share) }
                image[x, y] = color
            }
        }
    }

    /// Four letters with their places inside the left, right, top and bottom edge of an image. Opposite ones are left out where
    /// they would take half of what is between the edges.
    static func placed(_ letters: String, width across: Int, height down: Int) -> [(Character, (Int, Int))] {
        let (x, y) = ((across - width) / 2, (down - height) / 2)
        let places = [(2, y), (across - width - 2, y), (x, 2), (x, down - height - 2)]
        let pairs = Array(zip(letters, places))
        let hasSides = across > 4 * width && down >= height
        let hasEnds = down > 4 * height && across >= width
        return (hasSides ? Array(pairs.prefix(2)) : []) + (hasEnds ? Array(pairs.dropFirst(2)) : [])
    }

    /// The grey or colour of a pixel that a letter covers to a share of 255.
    static func mixed(_ below: UInt8, _ share: UInt8) -> UInt8 {
        let (below, share) = (Int(below), Int(share))
        return UInt8((255 * below + (220 - below) * share + 127) / 255)
    }

    /// Calls `body` with every pixel of an image of the given size that a letter at a place covers, and its share of 255. Other
    /// characters are ignored.
    static func forEachPixel(
        _ letter: Character,
        _ place: (x: Int, y: Int),
        of size: (width: Int, height: Int),
        _ body: (_ x: Int, _ y: Int, _ share: UInt8) -> Void
    ) {
        for (index, share) in (coverages[letter] ?? []).enumerated() where share > 0 {
            let (x, y) = (place.x + index % width, place.y + index / width)
            if (0..<size.width).contains(x), (0..<size.height).contains(y) { body(x, y, share) }
        }
    }
}
