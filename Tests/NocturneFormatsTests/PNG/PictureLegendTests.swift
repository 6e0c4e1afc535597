import NocturneCore
import NocturneFormats
import Testing

@Suite("The legend of a picture")
struct PictureLegendTests {
    @Test(
        "has a bar of a round length at the picture's scale",
        arguments: [(2.0, 100), (1.9, 95), (0.3, 60), (300, 60)]
    )
    func bar(pixelsPerMm: Double, pixels: Int) {
        let legend = PictureLegend(entries: [], scale: pixelsPerMm).drawn(below: RGBImage(width: 400, height: 50))
        // The longest row of its colour that begins where the strip's content begins.
        let lengths = (50..<legend.height).map { y in
            (6..<legend.width).prefix { legend[$0, y] == SIMD3(repeating: 230) }.count
        }
        #expect(lengths.max() == pixels)
    }

    @Test("puts facts that do not fit into further rows, and is nothing where there is nothing to show")
    func facts() {
        let picture = RGBImage(width: 300, height: 50)
        #expect(PictureLegend(entries: []).drawn(below: picture) == picture)
        var legend = PictureLegend(entries: [])
        let heights = (1...4).map { count in
            legend.facts = [String](repeating: "slices cross at R 12 mm", count: count)
            return legend.drawn(below: picture).height - picture.height
        }
        #expect(heights == [36, 60, 84, 108])
    }

    @Test("A long fact widens a narrow picture, and one entry more than the most is shown rather than counted")
    func room() {
        let picture = RGBImage(width: 100, height: 50)
        var legend = PictureLegend(entries: [])
        legend.facts = [String(repeating: "a", count: 50)]
        #expect(legend.drawn(below: picture).width == 50 * 12 * 3 / 5 + 12)
        let colors = (0..<42).map { SIMD3<UInt8>(200, 0, $0) }
        let entries = colors.map { PictureLegend.Entry(text: "label", color: $0) }
        func shown(_ count: Int) -> Int {
            let drawn = PictureLegend(entries: Array(entries.prefix(count))).drawn(below: picture)
            let seen = Set((0..<drawn.width * drawn.height).map { drawn[$0 % drawn.width, $0 / drawn.width] })
            return colors.count(where: seen.contains)
        }
        #expect([40, 41, 42].map(shown) == [40, 41, 40])
    }
}
