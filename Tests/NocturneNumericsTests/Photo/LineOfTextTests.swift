import NocturneCore
import NocturneNumerics
import Testing

@Suite("Turning pictures and cutting lines of text out")
struct LineOfTextTests {
    /// Every pixel has its place as its colour.
    private func image(_ width: Int, _ height: Int) -> RGBImage {
        var image = RGBImage(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width { image[x, y] = SIMD3(UInt8(x), UInt8(y), 7) }
        }
        return image
    }

    @Test("A turn moves the corners, and its points lead back to the pixels", arguments: QuarterTurn.allCases)
    func turns(_ turn: QuarterTurn) {
        let picture = image(5, 3)
        let turned = turn.applied(to: picture)
        #expect(turned.width == (turn == .none ? 5 : 3) && turned.height == (turn == .none ? 3 : 5))
        // What is in the upper left corner after the turn.
        let first: [QuarterTurn: SIMD3<UInt8>] = [
            .counterclockwise: SIMD3(4, 0, 7), .clockwise: SIMD3(0, 2, 7), .none: SIMD3(0, 0, 7),
        ]
        #expect(turned[0, 0] == first[turn])
        for y in 0..<turned.height {
            for x in 0..<turned.width {
                let source = turn.source(of: SIMD2(Double(x), Double(y)), width: 5, height: 3)
                #expect(turned[x, y] == picture[Int(source.x), Int(source.y)])
            }
        }
    }

    @Test("An upright line is cut out pixel by pixel")
    func upright() throws {
        let corners: [SIMD2<Double>] = [SIMD2(10, 20), SIMD2(40, 20), SIMD2(40, 30), SIMD2(10, 30)]
        let line = try #require(image(60, 50).lineOfText(within: corners))
        #expect(line.image.width == 30 && line.image.height == 10 && line.corners == corners)
        for y in 0..<10 {
            for x in 0..<30 { #expect(line.image[x, y] == SIMD3(UInt8(10 + x), UInt8(20 + y), 7)) }
        }
    }

    @Test("A line that is one and a half times as high as wide is turned, a lower one is not", arguments: [14, 15])
    func standing(_ height: Int) throws {
        let (left, bottom) = (SIMD2<Double>(5, 5), Double(5 + height))
        let corners = [left, SIMD2(15, 5), SIMD2(15, bottom), SIMD2(5, bottom)]
        let line = try #require(image(60, 50).lineOfText(within: corners))
        let isTurned = height == 15
        #expect(line.image.width == (isTurned ? height : 10))
        #expect(line.image[0, 0] == (isTurned ? SIMD3(14, 5, 7) : SIMD3(5, 5, 7)))
        #expect(line.corners[0] == (isTurned ? corners[1] : corners[0]))
    }

    @Test("A tilted line is sampled along its sides; one of 3 pixels is nothing")
    func tilted() throws {
        // 3, 4, 5: along is (0.8, 0.6), across (-0.6, 0.8).
        let start = SIMD2(20.0, 10.0)
        let (along, across) = (SIMD2(0.8, 0.6) * 25, SIMD2(-0.6, 0.8) * 10)
        let corners = [start, start + along, start + along + across, start + across]
        let line = try #require(image(60, 50).lineOfText(within: corners))
        #expect(line.image.width == 25 && line.image.height == 10)
        for (x, y) in [(0, 0), (10, 5), (24, 9)] {
            let place = start + along * (Double(x) / 25) + across * (Double(y) / 10)
            let found = line.image[x, y]
            #expect(abs(Double(found.x) - place.x) <= 1 && abs(Double(found.y) - place.y) <= 1)
        }
        let thin = [start, start + along, start + along + SIMD2(0, 3), start + SIMD2(0, 3)]
        #expect(image(60, 50).lineOfText(within: thin) == nil)
    }
}
