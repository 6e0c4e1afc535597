import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Preparing photos")
struct PhotoPreprocessingTests {
    static func noise(_ width: Int, _ height: Int, seed: UInt64) -> RGBImage {
        var image = RGBImage(width: width, height: height)
        var generator = SplitMix64(seed: seed)
        for place in image.samples.indices { image.samples[place] = UInt8(truncatingIfNeeded: generator.next() >> 20) }
        return image
    }

    /// One line of `count` pixels by Pillow's rules, a pixel at a time.
    static func slowLine(_ line: [SIMD3<UInt8>], _ count: Int) -> [SIMD3<UInt8>] {
        let scale = Double(line.count) / Double(count)
        let support = max(scale, 1)
        return (0..<count).map { place in
            let centre = (Double(place) + 0.5) * scale
            let range = max(Int(centre - support + 0.5), 0)..<min(Int(centre + support + 0.5), line.count)
            let shares = range.map { max(0, 1 - abs((Double($0) - centre + 0.5) / support)) }
            let total = shares.reduce(0, +)
            var sum = SIMD3<Int>(repeating: 1 << 21)
            for (source, share) in zip(range, shares) {
                sum &+= SIMD3(truncatingIfNeeded: line[source]) &* Int(0.5 + share / total * Double(1 << 22))
            }
            return SIMD3(truncatingIfNeeded: (sum &>> 22).clamped(lowerBound: .zero, upperBound: SIMD3(repeating: 255)))
        }
    }

    static func slowResize(_ image: RGBImage, _ width: Int, _ height: Int) -> RGBImage {
        var middle = RGBImage(width: width, height: image.height)
        for y in 0..<image.height {
            let line = slowLine((0..<image.width).map { image[$0, y] }, width)
            for x in 0..<width { middle[x, y] = line[x] }
        }
        var result = RGBImage(width: width, height: height)
        for x in 0..<width {
            let line = slowLine((0..<image.height).map { middle[x, $0] }, height)
            for y in 0..<height { result[x, y] = line[y] }
        }
        return result
    }

    static let sizes: [(Int, Int, Int, Int)] = [
        (1, 1, 5, 3), (7, 5, 7, 5), (40, 30, 13, 17), (13, 17, 40, 30), (200, 3, 11, 3), (3, 200, 3, 11),
        (97, 101, 1, 1), (64, 64, 63, 65), (300, 20, 7, 50),
    ]

    @Test("Resizing gives every bit of the plain rule", arguments: sizes)
    func resizing(_ width: Int, _ height: Int, _ newWidth: Int, _ newHeight: Int) throws {
        let image = Self.noise(width, height, seed: UInt64(width * 1000 + height))
        let resized = try PillowResize.bilinear(image, width: newWidth, height: newHeight)
        // The rule of the weights is the same on both sides, so a division against a product may differ in the last
        // place of a weight; no level may.
        #expect(resized == Self.slowResize(image, newWidth, newHeight))
    }

    @Test("A part resizes as if it had been cut out first")
    func parts() throws {
        let image = Self.noise(90, 70, seed: 4)
        let part = PixelBox(x: 31, y: 11, width: 59, height: 59)
        var cut = RGBImage(width: 59, height: 59)
        for y in 0..<59 {
            for x in 0..<59 { cut[x, y] = image[x + 31, y + 11] }
        }
        let fromPart = try PillowResize.bilinear(image, part: part, width: 20, height: 24)
        #expect(try fromPart == PillowResize.bilinear(cut, width: 20, height: 24))
    }

    @Test("The square in the middle rounds half a pixel to the even number")
    func square() {
        #expect(PixelBox.centreSquare(width: 11, height: 8) == PixelBox(x: 2, y: 0, width: 8, height: 8))
        #expect(PixelBox.centreSquare(width: 8, height: 9) == PixelBox(x: 0, y: 0, width: 8, height: 8))
        #expect(
            PixelBox.centreSquare(width: 600, height: 450) == PixelBox(x: 75, y: 0, width: 450, height: 450)
        )
    }

    @Test("A colour cast on grey is measured and divided out")
    func cast() {
        var image = RGBImage(width: 60, height: 60)
        for y in 0..<60 {
            for x in 0..<60 {
                let level = 20 + x * 2
                image[x, y] = SIMD3(UInt8(level), UInt8(level / 2), UInt8(level / 4))
            }
        }
        let measured = ShadesOfGray(measuring: image)
        #expect(measured.exemption == nil)
        #expect(abs(measured.gains.y / measured.gains.x - 2) < 0.02)
        #expect(abs(measured.gains.z / measured.gains.x - 4) < 0.08)
    }

    @Test("The norm is the sixth root of the mean sixth power")
    func norm() {
        var image = RGBImage(width: 2, height: 1)
        image[0, 0] = SIMD3(100, 50, 200)
        image[1, 0] = SIMD3(200, 50, 200)
        // ((100⁶ + 200⁶) / 2)^(1/6), by hand.
        let norms = SIMD3(178.640_761_015, 50, 200)
        let gains = ShadesOfGray(measuring: image).gains
        let wanted = SIMD3(repeating: norms.sum() / 3) / norms
        for channel in 0..<3 { #expect(abs(gains[channel] - wanted[channel]) < 1e-6) }
    }

    @Test("Flat and near-black pictures are left alone, an empty channel stays finite")
    func exemptions() {
        var flat = RGBImage(width: 30, height: 30)
        for place in flat.samples.indices { flat.samples[place] = [200, 150, 140][place % 3] + UInt8(place % 2) }
        #expect(ShadesOfGray(measuring: flat).exemption == .flat)
        var dark = RGBImage(width: 30, height: 30)
        for place in dark.samples.indices { dark.samples[place] = UInt8(place % 6) }
        #expect(ShadesOfGray(measuring: dark).exemption == .nearBlack)
        #expect(ShadesOfGray(measuring: dark).gains == SIMD3(repeating: 1))
        var red = RGBImage(width: 30, height: 30)
        for place in stride(from: 0, to: red.samples.count, by: 3) { red.samples[place] = UInt8(place % 251) }
        let measured = ShadesOfGray(measuring: red)
        #expect(measured.exemption == nil)
        let colors = NetworkColors(mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225])
        let values = colors.planes(of: red, gains: measured.gains, width: 30, height: 30)
        #expect(values.allSatisfy { $0.isFinite })
    }

    @Test("Planes follow each other, rows from the top")
    func layout() {
        var image = RGBImage(width: 4, height: 4)
        image[1, 0] = SIMD3(255, 0, 0)
        image[2, 3] = SIMD3(0, 0, 255)
        var wanted = [Float](repeating: 0, count: 48)
        wanted[1] = 1
        wanted[32 + 14] = 1
        let (mean, deviation) = ([0.0, 0, 0], [1.0, 1, 1])
        #expect(NetworkColors(mean: mean, deviation: deviation).planes(of: image, width: 4, height: 4) == wanted)
        // Blue first; a gain is clamped to 255; the picture lies in a larger input.
        let reversed = NetworkColors(mean: mean, deviation: deviation, order: .bgr)
        let moved = reversed.planes(of: image, gains: SIMD3(0.5, 1, 2), at: (1, 2), width: 5, height: 7)
        wanted = [Float](repeating: 0, count: 105)
        wanted[(2 + 3) * 5 + 1 + 2] = 1
        wanted[70 + 2 * 5 + 1 + 1] = 0.5
        #expect(moved == wanted)
    }

    @Test("Sizes that make no sense are refused, a raised flag stops")
    func refusals() {
        let image = Self.noise(20, 20, seed: 1)
        for side in [0, .max] {
            #expect(throws: NumericsError.self) { try PillowResize.bilinear(image, width: side, height: side) }
        }
        let empty = RGBImage(width: 0, height: 9)
        #expect(throws: NumericsError.self) { try PillowResize.bilinear(empty, width: 380, height: 380) }
        let outside = PixelBox(x: .max, y: 0, width: 2, height: 2)
        #expect(throws: NumericsError.self) { try PillowResize.bilinear(image, part: outside, width: 2, height: 2) }
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) { try PillowResize.bilinear(image, width: 380, height: 380, flag: flag) }
    }
}
