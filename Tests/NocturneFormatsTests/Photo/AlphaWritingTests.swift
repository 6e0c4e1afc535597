import Foundation
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("PNG with alpha")
struct AlphaWritingTests {
    @Test("Colours and alpha come back, and the same bytes every time")
    func roundTrip() throws {
        try TemporaryFolder.with { folder in
            let picture = PNGWriterTests.picture
            let count = picture.width * picture.height
            let alpha = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
            try PNGWriter.write(picture, alpha: alpha, to: folder("a.png").path)
            try PNGWriter.write(picture, alpha: alpha, to: folder("b.png").path)
            #expect(try Data(contentsOf: folder("a.png")) == Data(contentsOf: folder("b.png")))
            let photo = try PhotoReader.read(at: folder("a.png").path)
            #expect(photo.facts.colourModel == .rgba)
            for place in 0..<count {
                for channel in 0..<3 {
                    let opacity = Double(alpha[place]) / 255
                    let wanted = Double(picture.samples[place * 3 + channel]) * opacity + 255 * (1 - opacity)
                    let found = Double(photo.image.samples[place * 3 + channel])
                    try #require(abs(found - wanted) <= 0.51)
                }
            }
        }
    }

    @Test("Alpha of another number of pixels is refused")
    func mismatch() throws {
        try TemporaryFolder.with { folder in
            let error = #expect(throws: PictureError.self) {
                try PNGWriter.write(PNGWriterTests.picture, alpha: [1, 2], to: folder("a.png").path)
            }
            #expect(error?.code == .invalidImage)
        }
    }
}
