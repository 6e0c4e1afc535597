import NocturneCore
import NocturneFormats
import Testing

@Suite("Text in pictures")
struct PictureTextTests {
    private func drawn(_ text: String, x: Int = 10, y: Int = 30, isBold: Bool = false) -> RGBImage {
        var image = RGBImage(width: 200, height: 50)
        PictureText(width: 180, size: 16).draw(text, in: &image, x: x, y: y, isBold: isBold)
        return image
    }

    private func marked(_ image: RGBImage) -> [(x: Int, y: Int)] {
        (0..<image.width * image.height).map { ($0 % image.width, $0 / image.width) }.filter {
            image[$0.0, $0.1] != .zero
        }
    }

    @Test("Letters stand on their baseline, after the start")
    func place() throws {
        let pixels = marked(drawn("HHH"))
        #expect(pixels.count > 30)
        #expect(pixels.allSatisfy { $0.x >= 10 && $0.x < 60 && $0.y < 31 && $0.y > 15 })
        #expect(try #require(pixels.map(\.y).max()) == 29)
    }

    @Test("The same text gives the same pixels; others, and bold ones, give others")
    func content() {
        #expect(drawn("mean 12.5") == drawn("mean 12.5"))
        #expect(drawn("mean 12.5") != drawn("mean 12.6"))
        #expect(drawn("mean") != drawn("mean", isBold: true))
        #expect(drawn("a\u{0}b\n") == drawn("a b "))
    }

    @Test("Text beyond the edges is cut off, and empty text draws nothing")
    func edges() {
        #expect(marked(drawn("")).isEmpty)
        #expect(!marked(drawn("MMMM", x: -12, y: 3)).isEmpty)
        #expect(marked(drawn("MMMM", x: 300, y: 30)).isEmpty)
        #expect(marked(drawn(String(repeating: "W", count: 5_000))).allSatisfy { $0.x < 190 })
    }
}
