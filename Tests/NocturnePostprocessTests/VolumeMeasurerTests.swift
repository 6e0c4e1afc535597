import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The intensities of a whole volume")
struct VolumeMeasurerTests {
    private func volume(_ shape: VolumeShape, _ value: (Int) -> Float) throws -> Volume {
        var voxels = try VoxelBuffer<Float>(count: shape.count)
        for place in 0..<shape.count { voxels[place] = value(place) }
        return Volume(geometry: VolumeGeometry(shape: shape, affine: .identity), voxels: voxels.frozen())
    }

    @Test("are those of sorted values, also across parts, with ties, negative values and voxels that are not finite")
    func sorted() throws {
        var dice = SplitMix64(seed: 7)
        var values: [Float] = []
        // More than one part of a million voxels.
        let volume = try volume(VolumeShape(x: 130, y: 100, z: 90)) { place in
            if place % 1000 == 3 { return place % 2000 == 3 ? .nan : -.infinity }
            let value = Float((dice.unit() - 0.3) * 1000).rounded() / 8
            values.append(value)
            return value
        }
        values.sort()
        let percents = [0, 0.5, 1, 33.3, 50, 99.5, 100]
        let found = try #require(try VolumeIntensities.measure(volume, percents: percents, scope: .serial()))
        #expect(found.finiteCount == values.count)
        #expect(found.summary.minimum == Double(values[0]) && found.summary.maximum == Double(values[values.count - 1]))
        let mean = values.reduce(0) { $0 + Double($1) } / Double(values.count)
        #expect(isClose(found.summary.mean, mean, relative: 1e-10))
        let squares = values.reduce(0) { $0 + (Double($1) - mean) * (Double($1) - mean) }
        #expect(
            isClose(found.summary.standardDeviation, (squares / Double(values.count)).squareRoot(), relative: 1e-10)
        )
        #expect(found.percentiles.map(\.percent) == percents)
        for row in found.percentiles {
            let place = row.percent / 100 * Double(values.count - 1)
            let (lower, upper) = (Double(values[Int(place)]), Double(values[min(Int(place) + 1, values.count - 1)]))
            #expect(isClose(row.value, lower + (upper - lower) * (place - place.rounded(.down)), absolute: 1e-9))
        }
        #expect(found.summary.median == found.percentiles[4].value)
        #expect(found.summary.histogram.counts.reduce(0, +) == values.count)
    }

    @Test("are the same bits for any number of threads")
    func threads() async throws {
        var dice = SplitMix64(seed: 8)
        let volume = try volume(VolumeShape(x: 128, y: 128, z: 160)) { _ in Float(dice.unit() * 3000 - 1000) }
        let serial = try VolumeIntensities.measure(volume, percents: [1, 99], scope: .serial())
        let others = try await resultsForWidths([2, 5]) {
            try VolumeIntensities.measure(volume, percents: [1, 99], scope: $0)
        }
        for other in others { #expect(other == serial) }
    }

    @Test("are nil without a finite voxel; one voxel has one value")
    func few() throws {
        let shape = VolumeShape(x: 3, y: 2, z: 2)
        #expect(try VolumeIntensities.measure(volume(shape) { _ in .nan }, percents: [1], scope: .serial()) == nil)
        let one = try VolumeIntensities.measure(
            volume(shape) { $0 == 5 ? 7 : .infinity },
            percents: [1, 99],
            scope: .serial()
        )
        #expect(one?.finiteCount == 1 && one?.summary.median == 7 && one?.percentiles.map(\.value) == [7, 7])
    }

    @Test("stop when they are cancelled")
    func cancelled() throws {
        let volume = try volume(VolumeShape(x: 8, y: 8, z: 8)) { Float($0) }
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) {
            try VolumeIntensities.measure(volume, percents: [1], scope: .serial(flag))
        }
    }
}
