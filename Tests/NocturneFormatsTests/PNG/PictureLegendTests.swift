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
}
