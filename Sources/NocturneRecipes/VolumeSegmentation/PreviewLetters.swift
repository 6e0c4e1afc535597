package import NocturneCore

/// The letters of the six directions, five pixels wide and seven high.
package enum PreviewLetters {
    package static let width = 5
    package static let height = 7

    private static let rows: [Character: [String]] = [
        "R": ["####.", "#...#", "#...#", "####.", "#.#..", "#..#.", "#...#"],
        "L": ["#....", "#....", "#....", "#....", "#....", "#....", "#####"],
        "A": [".###.", "#...#", "#...#", "#####", "#...#", "#...#", "#...#"],
        "P": ["####.", "#...#", "#...#", "####.", "#....", "#....", "#...."],
        "S": [".####", "#....", "#....", ".###.", "....#", "....#", "####."],
        "I": [".###.", "..#..", "..#..", "..#..", "..#..", "..#..", ".###."],
    ]

    /// Draws a letter with its upper left corner at column `x`, row `y`, each of its dots `scale` pixels wide and high.
    /// What is no direction's letter, and dots outside the image, are left out.
    package static func draw(
        _ letter: Character,
        in image: inout RGBImage,
        x: Int,
        y: Int,
        scale: Int,
        color: SIMD3<UInt8>
    ) {
        for (row, dots) in (rows[letter] ?? []).enumerated() {
            for (column, dot) in dots.enumerated() where dot == "#" {
                for place in 0..<scale * scale {
                    let column = x + column * scale + place % scale
                    let row = y + row * scale + place / scale
                    guard (0..<image.width).contains(column), (0..<image.height).contains(row) else { continue }
                    image[column, row] = color
                }
            }
        }
    }
}
