import NocturneCore
import NocturnePhotos
import NocturnePostprocess
import NocturneRecipes
import NocturneVolumes
import Testing

@Suite("Attention maps")
struct AttentionMapTests {
    private func map(_ values: [Float], _ height: Int, _ width: Int) throws -> AttentionMap {
        try AttentionMap(index: 0, shape: [1, height, width], values: values)
    }

    @Test("Enlarged values are linear between the middles of cells, over the largest")
    func enlarged() throws {
        let row: [Float] = [0, 0.25, 0.75, 1]
        #expect(try map([0, 4], 1, 2).enlarged(to: 4) == row + row + row + row)
        let same = try map([1, 2, 3, 8], 2, 2).enlarged(to: 2)
        #expect(same == [0.125, 0.25, 0.375, 1])
        let large = try map([0, 1, 0, 0, 0, 0, 0, 0, 0], 3, 3).enlarged(to: 99)
        #expect(large[49] == 1 && large[0] == 0 && large[98 * 99 + 49] == 0)
    }

    @Test("Maps without anything that stands out are uniform", arguments: [Float(0), -3, 0.5, 1e30])
    func uniform(_ value: Float) throws {
        let flat = try map([value, value, value, value], 2, 2)
        #expect(flat.isUniform && flat.enlarged(to: 3) == [Float](repeating: 0, count: 9))
        #expect(try !map([value, value, value, abs(value) * 2 + 1], 2, 2).isUniform)
    }

    @Test(
        "Maps whose values have no share of the largest, or no spread, are uniform",
        arguments: [[0, .leastNonzeroMagnitude, 0, .leastNonzeroMagnitude], [-3e38, 3e38, 3e38, -3e38]] as [[Float]]
    )
    func extreme(_ values: [Float]) throws {
        let map = try map(values, 2, 2)
        #expect(map.isUniform && map.enlarged(to: 3) == [Float](repeating: 0, count: 9))
    }

    @Test("Maps of other sizes and of values that are not numbers are refused")
    func refused() {
        #expect(throws: NetworkOutputError.self) { try map([1, .nan], 1, 2) }
        #expect(throws: NetworkOutputError.self) { try map([1, .infinity], 1, 2) }
        #expect(throws: NetworkOutputError.self) { try map([1], 1, 2) }
        #expect(throws: NetworkOutputError.self) { try AttentionMap(index: 0, shape: [1], values: [1]) }
    }

    @Test("The overlay covers what speaks for the class, leaves the rest, and has a bar that grows lighter upwards")
    func overlay() throws {
        var picture = RGBImage(width: 40, height: 40)
        for place in picture.samples.indices { picture.samples[place] = 100 }
        let attention = try map([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 4, 4)
        let overlay = attention.overlay(on: picture)
        #expect(overlay[39, 39] == SIMD3(100, 100, 100) && overlay[2, 2] != SIMD3(100, 100, 100))
        let whole = AttentionMap.heatmap(overlay)
        #expect(whole.width == 40 + AttentionMap.barSpace && whole.height == 40)
        let light = (0..<40).map { y in
            let color = whole[50, y]
            return 0.2126 * Double(color.x) + 0.7152 * Double(color.y) + 0.0722 * Double(color.z)
        }
        for (above, below) in zip(light, light.dropFirst()) { #expect(above >= below) }
        // The ends of the bar are named in the font of the other pictures, which has soft edges.
        for rows in [0..<20, 20..<40] {
            let levels = Set(rows.flatMap { y in (68..<84).map { whole[$0, y].x } })
            #expect(levels.contains(255) && levels.contains { $0 > 0 && $0 < 255 }, "\(levels)")
        }
        #expect(try map([1, 1, 1, 1], 2, 2).overlay(on: picture) == picture)
    }
}
