import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Medians and histograms of labels")
struct MedianTests {
    @Test("Medians are those of sorted values, for more labels than share a pass", arguments: [UInt64(1), 2, 3])
    func sorted(seed: UInt64) throws {
        let labels = PlainLabels.random(31, 29, 23, labels: 150, empty: 0.2, seed: seed)
        var dice = SplitMix64(seed: seed + 7)
        let values = labels.values.map { label -> Float in
            switch label % 4 {
            case 0: Float.random(in: -1e-3...1e-3, using: &dice)
            case 1: Float(Int.random(in: -3...3, using: &dice))
            case 2: Float.random(in: -2000...3000, using: &dice)
            default: Float.random(in: 0...1, using: &dice) < 0.1 ? .nan : Float.random(in: -1e30...1e30, using: &dice)
            }
        }
        let image = Volume(
            geometry: VolumeGeometry(shape: labels.shape, affine: .identity),
            voxels: try FrozenVoxels(values)
        )
        let wanted = (0...150).map(UInt16.init)
        let found = try LabelMeasurement.measure(
            labels: labels.volume(),
            image: image,
            values: wanted,
            scope: .serial()
        )
        for measured in found {
            let own = zip(labels.values, values).filter { $0.0 == measured.value && $0.1.isFinite }.map { Double($0.1) }
                .sorted()
            let intensity = try #require(measured.intensity)
            #expect(intensity.median == (own[(own.count - 1) / 2] + own[own.count / 2]) / 2, "label \(measured.value)")
            let histogram = intensity.histogram
            #expect(histogram.counts.reduce(0, +) == own.count && histogram.counts.count == 16)
            #expect(histogram.lower == own.first && histogram.upper == own.last)
            for bin in 0..<16 {
                let (low, high) = (histogram.edge(bin), histogram.edge(bin + 1))
                let count = own.filter { $0 >= low && (bin == 15 ? $0 <= high : $0 < high) }.count
                #expect(histogram.counts[bin] == count, "label \(measured.value), bin \(bin)")
            }
        }
    }

    @Test("Given edges: what lies outside is counted apart; a constant gets a unit around it")
    func edges() throws {
        let labels = PlainLabels(6, 1, 1) { $0.i < 5 ? 1 : 2 }
        let image = Volume(
            geometry: VolumeGeometry(shape: labels.shape, affine: .identity),
            voxels: try FrozenVoxels([-5, 0, 1, 2, 9, 7])
        )
        let found = try LabelMeasurement.measure(
            labels: labels.volume(),
            image: image,
            values: [1],
            histogram: .init(bins: 2, range: 0...2),
            scope: .serial()
        )
        let given = try #require(found[0].intensity?.histogram)
        #expect(given.counts == [1, 2] && given.below == 1 && given.above == 1)
        let constant = try LabelMeasurement.measure(
            labels: labels.volume(),
            image: image,
            values: [2],
            histogram: .init(bins: 4),
            scope: .serial()
        )
        let point = try #require(constant[0].intensity?.histogram)
        #expect(point.lower == 6.5 && point.upper == 7.5 && point.counts == [0, 0, 1, 0])
    }

    @Test("a single value so large that half a unit is nothing to it falls into the first bin")
    func hugePoint() throws {
        let labels = PlainLabels(4, 1, 1) { _ in 1 }
        let found = try LabelMeasurement.measure(
            labels: labels.volume(),
            image: Volume(
                geometry: VolumeGeometry(shape: labels.shape, affine: .identity),
                voxels: try FrozenVoxels([1e17, 1e17, 1e17, 1e17])
            ),
            values: [1],
            histogram: .init(bins: 4),
            scope: .serial()
        )
        let histogram = try #require(found[0].intensity?.histogram)
        #expect(histogram.lower == histogram.upper && histogram.counts == [4, 0, 0, 0])
    }
}
