import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Normalisation by quantiles")
struct QuantileTests {
    /// The definition: the values at two places of all values in ascending order.
    private func expected(_ values: [Float], padding: Int, _ lower: Double, _ upper: Double) -> PointwiseMap {
        let sorted = (values + [Float](repeating: values.min() ?? 0, count: padding)).sorted()
        let count = Double(sorted.count)
        let low = sorted[Int((count * lower).rounded(.down))]
        let high = sorted[Int((count * upper).rounded(.up)) - 1]
        return PointwiseMap(shift: low, divisor: max(high - low, 1e-8))
    }

    private let stored = VolumeShape(x: 13, y: 11, z: 9)
    private var box: VoxelBox { VoxelBox(lower: SIMD3(1, 2, 3), upper: SIMD3(12, 9, 8)) }

    private func view(cropped: Bool) throws -> VoxelView {
        try cropped ? VoxelView(stored: stored).cropped(to: box) : VoxelView(stored: stored)
    }

    /// The values of the view, in the order in which they are stored.
    private func seen(_ image: [Float], cropped: Bool) -> [Float] {
        (0..<stored.count).filter { index in
            let place = SIMD3(index % stored.x, index / stored.x % stored.y, index / stored.sliceCount)
            return !cropped || (0..<3).allSatisfy { (box.lower[$0]..<box.upper[$0]).contains(place[$0]) }
        }.map { image[$0] }
    }

    @Test("takes the values that sorting gives, of any view, with padding and any number of threads")
    func sorting() async throws {
        var random = SplitMix64(seed: 5)
        let values = random.floats(stored.count, in: -1000..<3000)
        let coarse = values.map { ($0 / 500).rounded() }
        for image in [values, coarse, [Float](repeating: -2, count: stored.count), values.map { $0 * 1e-20 }] {
            for cropped in [false, true] {
                for (padding, lower, upper) in [(0, 0.05, 0.95), (2000, 0.05, 0.95), (0, 0, 1), (77, 0.001, 0.5)] {
                    let found = try await resultsForWidths { scope in
                        let map = try Normalization.quantiles(lower: lower, upper: upper, countsPadding: true).map(
                            for: FrozenVoxels(image),
                            view: view(cropped: cropped),
                            padding: padding,
                            scope: scope
                        )
                        return [map.shift, map.divisor]
                    }
                    let wanted = expected(seen(image, cropped: cropped), padding: padding, lower, upper)
                    for numbers in found { #expect(numbers == [wanted.shift, wanted.divisor]) }
                }
            }
        }
    }

    @Test("clips to both quantiles if asked to, so that values are from 0 to 1")
    func clipped() throws {
        let values = (0..<100).map { Float($0) }
        let shape = VolumeShape(x: 10, y: 10, z: 1)
        func mapped(clips: Bool) throws -> [Float] {
            let map = try Normalization.quantiles(lower: 0.1, upper: 0.9, clips: clips).map(
                for: FrozenVoxels(values),
                view: VoxelView(stored: shape),
                scope: .serial()
            )
            return values.map { map($0) }
        }
        // The values at places 10 and 89.
        #expect(try mapped(clips: false) == values.map { ($0 - 10) / 79 })
        #expect(try mapped(clips: true) == values.map { (min(max($0, 10), 89) - 10) / 79 })
    }

    @Test("Quantiles that clamp are linear between two values, as NumPy's")
    func clamping() throws {
        let values: [Float] = [3, 9, 1, 7, 20, 5]
        let map = try PointwiseMap(
            clamping: FrozenVoxels(values),
            VolumeShape(x: 6, y: 1, z: 1),
            to: 0.1...0.9,
            scope: .serial()
        )
        // numpy.quantile([1, 3, 5, 7, 9, 20], [0.1, 0.9]) is [2, 14.5].
        #expect(values.map { map($0) } == [3, 9, 2, 7, 14.5, 5])
    }

    @Test("refuses values that are not finite", arguments: [Float.nan, .infinity, -.infinity])
    func notFinite(_ value: Float) throws {
        let shape = VolumeShape(x: 3, y: 3, z: 3)
        var values = [Float](repeating: 1, count: shape.count)
        values[5] = value
        #expect(throws: NumericsError.self) {
            try Normalization.quantiles(lower: 0.1, upper: 0.9).map(
                for: FrozenVoxels(values),
                view: VoxelView(stored: shape),
                scope: .serial()
            )
        }
    }
}
