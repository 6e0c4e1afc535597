import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Measurements")
struct MeasurementTests {
    /// Oblique, sheared a little, anisotropic and left-handed.
    private let oblique = Affine(
        columnI: SIMD3(-0.7, 0.1, 0.05),
        columnJ: SIMD3(0.08, 0.8, -0.2),
        columnK: SIMD3(0.1, 0.4, 2.9),
        translation: SIMD3(120, -80, 33)
    )

    private func image(_ labels: PlainLabels, _ affine: Affine, _ values: [Float]) throws -> Volume {
        Volume(geometry: VolumeGeometry(shape: labels.shape, affine: affine), voxels: try FrozenVoxels(values))
    }

    @Test("a box has the size, place and centre it was given")
    func box() throws {
        let labels = PlainLabels(10, 12, 14) {
            (2...4).contains($0.i) && (3...8).contains($0.j) && (5...6).contains($0.k) ? 6 : 0
        }
        let affine = Affine(
            columnI: SIMD3(-2, 0, 0),
            columnJ: SIMD3(0, -3, 0),
            columnK: SIMD3(0, 0, 5),
            translation: SIMD3(100, 50, 7)
        )
        let found = try LabelMeasurement.measure(
            labels: labels.volume(affine),
            image: nil,
            values: [6],
            scope: .serial()
        )
        #expect(found.count == 1)
        #expect(found[0].voxelCount == 36)
        #expect(found[0].volumeMm3 == 36 * 30)
        #expect(found[0].volumeMl == 1.08)
        let centre = SIMD3<Double>(100 - 6, 50 - 16.5, 7 + 27.5)
        #expect(found[0].centroid == centre)
        #expect(found[0].boundingBox == VoxelBox(lower: SIMD3(2, 3, 5), upper: SIMD3(5, 9, 7)))
        #expect(found[0].status == .complete)
        #expect(!found[0].touchesBorder)
        #expect(found[0].intensity == nil)
    }

    @Test("random volumes agree with the formulas, background included", arguments: [UInt64(1), 2, 3])
    func random(seed: UInt64) throws {
        let labels = PlainLabels.random(23, 17, 29, labels: 4, empty: 0.6, seed: seed)
        var dice = SplitMix64(seed: seed + 100)
        let intensities = labels.values.map { Float($0) * 40 + Float.random(in: -300...300, using: &dice) }
        let values: [UInt16] = [3, 0, 1, 4, 3]
        let found = try LabelMeasurement.measure(
            labels: labels.volume(oblique),
            image: image(labels, oblique, intensities),
            values: values,
            scope: .serial()
        )
        #expect(found.map(\.value) == values)
        #expect(found[0] == found[4])
        let places = Voxel.all(of: labels.shape)
        for measured in found {
            let own = places.indices.filter { labels.values[$0] == measured.value }
            let count = Double(own.count)
            let mean = own.reduce(0.0) { $0 + Double(intensities[$1]) } / count
            let variance =
                own.reduce(0.0) { $0 + (Double(intensities[$1]) - mean) * (Double(intensities[$1]) - mean) } / count
            let centre =
                own.reduce(SIMD3<Double>.zero) {
                    $0 + oblique(SIMD3(Double(places[$1].i), Double(places[$1].j), Double(places[$1].k)))
                } / count
            let intensity = try #require(measured.intensity)
            #expect(measured.voxelCount == own.count)
            #expect(abs(measured.volumeMm3 - count * abs(oblique.determinant)) < 1e-9 * measured.volumeMm3)
            #expect(abs(intensity.mean - mean) < 1e-10)
            #expect(abs(intensity.standardDeviation - variance.squareRoot()) < 1e-10)
            #expect(intensity.minimum == own.map { Double(intensities[$0]) }.min())
            #expect(intensity.maximum == own.map { Double(intensities[$0]) }.max())
            #expect(length(try #require(measured.centroid) - centre) < 1e-9)
            let box = try #require(measured.boundingBox)
            #expect(
                box.lower
                    == SIMD3(
                        own.map { places[$0].i }.min()!,
                        own.map { places[$0].j }.min()!,
                        own.map { places[$0].k }.min()!
                    )
            )
            #expect(
                box.upper
                    == SIMD3(
                        own.map { places[$0].i }.max()! + 1,
                        own.map { places[$0].j }.max()! + 1,
                        own.map { places[$0].k }.max()! + 1
                    )
            )
            #expect(measured.status == .touchesBorder)
        }
    }

    @Test("a large mean does not drown a small spread")
    func stability() throws {
        let labels = PlainLabels(64, 64, 16) { _ in 1 }
        // 2²³ ± 1: exact in float, mean and deviation known.
        let intensities = labels.values.indices.map { Float(8_388_607 + ($0 % 2) * 2) }
        let found = try LabelMeasurement.measure(
            labels: labels.volume(),
            image: image(labels, .identity, intensities),
            values: [1],
            scope: .serial()
        )
        #expect(found[0].intensity?.mean == 8_388_608)
        #expect(found[0].intensity?.standardDeviation == 1)
    }

    @Test("an absent label is said to be absent, and nothing is measured")
    func absent() throws {
        let labels = PlainLabels(4, 4, 4)
        let found = try LabelMeasurement.measure(
            labels: labels.volume(),
            image: image(labels, .identity, [Float](repeating: 1, count: 64)),
            values: [2],
            scope: .serial()
        )
        let absent = try #require(found.first)
        #expect(found.count == 1 && absent.value == 2 && absent.status == .absent)
        #expect(absent.voxelCount == 0 && absent.volumeMm3 == 0)
        #expect(absent.intensity == nil && absent.centroid == nil && absent.boundingBox == nil)
        #expect(absent.components == nil && absent.largestComponentShare == nil)
        #expect(try LabelMeasurement.measure(labels: labels.volume(), image: nil, values: [], scope: .serial()).isEmpty)
    }

    @Test(
        "a voxel in any outermost layer touches the border",
        arguments: [(0, 2, 2), (4, 2, 2), (2, 0, 2), (2, 4, 2), (2, 2, 0), (2, 2, 4), (2, 2, 2)]
    )
    func border(place: (Int, Int, Int)) throws {
        let labels = PlainLabels(5, 5, 5) { $0 == Voxel(place.0, place.1, place.2) ? 65_535 : 0 }
        let found = try LabelMeasurement.measure(
            labels: labels.volume(),
            image: nil,
            values: [65_535],
            scope: .serial()
        )
        #expect(found[0].status == (place == (2, 2, 2) ? .complete : .touchesBorder))
    }

    @Test("intensities that are not finite are left out")
    func notFinite() throws {
        let labels = PlainLabels(6, 1, 1) { $0.i < 4 ? 1 : 2 }
        let found = try LabelMeasurement.measure(
            labels: labels.volume(),
            image: image(labels, .identity, [.nan, 2, 4, .infinity, .nan, .nan]),
            values: [1, 2],
            scope: .serial()
        )
        #expect(found[0].voxelCount == 4)
        let intensity = try #require(found[0].intensity)
        #expect(intensity.mean == 3 && intensity.standardDeviation == 1 && intensity.median == 3)
        #expect(intensity.minimum == 2 && intensity.maximum == 4)
        #expect(intensity.histogram.counts == [1] + [Int](repeating: 0, count: 14) + [1])
        #expect(found[1].voxelCount == 2)
        #expect(found[1].intensity == nil)
    }

    @Test("the result is bit-identical for 1, 2 and 5 threads")
    func widths() async throws {
        // More than one part: a part is about a million voxels.
        let shape = VolumeShape(x: 128, y: 128, z: 150)
        var dice = SplitMix64(seed: 4)
        var voxels = try VoxelBuffer<UInt16>(count: shape.count)
        var intensities = try VoxelBuffer<Float>(count: shape.count)
        for index in 0..<shape.count {
            let random = dice.next()
            voxels[index] = UInt16(random >> 61)
            intensities[index] = Float(random & 0xffff) * 0.37
        }
        let geometry = VolumeGeometry(shape: shape, affine: oblique)
        let labels = LabelVolume(geometry: geometry, voxels: voxels.frozen())
        let image = Volume(geometry: geometry, voxels: intensities.frozen())
        let results = try await resultsForWidths { scope in
            try LabelMeasurement.measure(labels: labels, image: image, values: Array(1...7), scope: scope)
        }
        #expect(results[0] == results[1])
        #expect(results[0] == results[2])
        #expect(results[0].map(\.voxelCount).reduce(0, +) > shape.count / 2)
    }

    @Test("a raised flag stops the measuring")
    func cancelled() throws {
        let flag = CancellationFlag()
        flag.cancel()
        let labels = try PlainLabels(4, 4, 4).volume()
        #expect(throws: CancelledError.self) {
            try LabelMeasurement.measure(labels: labels, image: nil, values: [1], scope: .serial(flag))
        }
    }
}
