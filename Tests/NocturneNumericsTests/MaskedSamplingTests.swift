import NocturneCore
import NocturneNumerics
import NocturneTestSupport
import Testing

@Suite("Sampling a picture with a mask")
struct MaskedSamplingTests {
    private let width = 23
    private let height = 17

    private var picture: RGBImage {
        var random = SplitMix64(seed: 5)
        var image = RGBImage(width: width, height: height)
        image.samples = (0..<3 * width * height).map { _ in UInt8.random(in: 0...255, using: &random) }
        return image
    }

    @Test("Samples are the weighted means of the pixels inside the mask")
    func reference() {
        var random = SplitMix64(seed: 6)
        let opacity = (0..<width * height).map { _ in UInt8.random(in: 0...3, using: &random) > 0 ? UInt8(255) : 0 }
        let source = picture
        let (start, across, down) = (SIMD2(-3.3, 5.1), SIMD2(0.8, -0.55), SIMD2(0.6, 0.79))
        var target = RGBImage(width: 31, height: 29)
        var alpha = [UInt8](repeating: 0, count: 31 * 29)
        MaskedSampling.sample(
            source,
            opacity: opacity,
            at: MaskedSampling.Grid(start: start, across: across, down: down),
            into: &target,
            alpha: &alpha
        )
        func isInside(_ x: Int, _ y: Int) -> Bool {
            x >= 0 && y >= 0 && x < width && y < height && opacity[y * width + x] != 0
        }
        var inside = 0
        for place in alpha.indices {
            let p = start + across * Double(place % 31) + down * Double(place / 31)
            let nearest = (x: Int((p.x + 0.5).rounded(.down)), y: Int((p.y + 0.5).rounded(.down)))
            guard isInside(nearest.x, nearest.y) else {
                #expect(alpha[place] == 0 && target[place % 31, place / 31] == .zero)
                continue
            }
            inside += 1
            var sum = SIMD3<Double>.zero
            let (x, y) = (p.x.rounded(.down), p.y.rounded(.down))
            for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let weight = (dx == 1 ? p.x - x : 1 - p.x + x) * (dy == 1 ? p.y - y : 1 - p.y + y)
                let (column, row) = (Int(x) + dx, Int(y) + dy)
                let pixel = isInside(column, row) ? source[column, row] : source[nearest.x, nearest.y]
                sum += SIMD3(Double(pixel.x), Double(pixel.y), Double(pixel.z)) * weight
            }
            let found = target[place % 31, place / 31]
            let differences = [Double(found.x) - sum.x, Double(found.y) - sum.y, Double(found.z) - sum.z]
            #expect(alpha[place] == 255 && differences.allSatisfy { abs($0) <= 0.501 })
        }
        #expect(inside > 200)
    }

    @Test("Whole steps give the pixels themselves, half turns too")
    func exact() {
        let source = picture
        let opacity = [UInt8](repeating: 255, count: width * height)
        var target = RGBImage(width: width, height: height)
        var alpha = [UInt8](repeating: 0, count: width * height)
        MaskedSampling.sample(
            source,
            opacity: opacity,
            at: MaskedSampling.Grid(
                start: SIMD2(Double(width - 1), Double(height - 1)),
                across: SIMD2(-1, 0),
                down: SIMD2(0, -1)
            ),
            into: &target,
            alpha: &alpha
        )
        let turned = (0..<width * height).allSatisfy { place in
            let (x, y) = (place % width, place / width)
            return target[x, y] == source[width - 1 - x, height - 1 - y]
        }
        #expect(turned && alpha.allSatisfy { $0 == 255 })
    }
}
