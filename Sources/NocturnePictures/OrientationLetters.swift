import NocturneCore

/// The letters of the six directions, five pixels wide and seven high.
enum OrientationLetters {
    static let width = 5
    static let height = 7

    /// Pixels of a dot, and between a panel and its letters, in pictures with a margin for letters.
    static let scale = 2
    static let gap = 3
    /// The space around a panel that its letters take.
    static let margin = height * scale + 2 * gap

    private static let rows: [Character: [String]] = [
        "R": ["####.", "#...#", "#...#", "####.", "#.#..", "#..#.", "#...#"],
        "L": ["#....", "#....", "#....", "#....", "#....", "#....", "#####"],
        "A": [".###.", "#...#", "#...#", "#####", "#...#", "#...#", "#...#"],
        "P": ["####.", "#...#", "#...#", "####.", "#....", "#....", "#...."],
        "S": [".####", "#....", "#....", ".###.", "....#", "....#", "####."],
        "I": [".###.", "..#..", "..#..", "..#..", "..#..", "..#..", ".###."],
    ]

    /// Draws a letter with its upper left corner at column `x`, row `y`, each of its dots `scale` pixels wide and high.
    /// Characters other than the direction letters, and dots outside the image, are ignored.
    static func draw(
        _ letter: Character,
        in image: inout RGBImage,
        x: Int,
        y: Int,
        scale: Int,
        color: SIMD3<UInt8>
    ) {
        forEachDot(letter, x: x, y: y, scale: scale) { column, row in
            guard (0..<image.width).contains(column), (0..<image.height).contains(row) else { return }
            image[column, row] = color
        }
    }

    /// Draws four letters `gap` pixels outside the left, right, top and bottom edge of a panel, at the middle of each.
    static func draw(
        _ letters: String,
        around panel: (columns: Range<Int>, rows: Range<Int>),
        in image: inout RGBImage,
        scale: Int = Self.scale,
        gap: Int = Self.gap
    ) {
        let (across, down) = (width * scale, height * scale)
        let (columns, rows) = panel
        let x = columns.lowerBound + (columns.count - across) / 2
        let y = rows.lowerBound + (rows.count - down) / 2
        let places = [
            (columns.lowerBound - gap - across, y), (columns.upperBound + gap, y),
            (x, rows.lowerBound - gap - down), (x, rows.upperBound + gap),
        ]
        for (letter, place) in zip(letters, places) {
            draw(letter, in: &image, x: place.0, y: place.1, scale: scale, color: SIMD3(repeating: 200))
        }
    }

    /// Calls `dot` with every pixel of a letter.
    static func forEachDot(_ letter: Character, x: Int, y: Int, scale: Int, _ dot: (_ x: Int, _ y: Int) -> Void) {
        for (row, dots) in (rows[letter] ?? []).enumerated() {
            for (column, mark) in dots.enumerated() where mark == "#" {
                for place in 0..<scale * scale {
                    dot(x + column * scale + place % scale, y + row * scale + place / scale)
                }
            }
        }
    }
}
