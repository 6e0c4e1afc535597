import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

/// What SciPy's `ndimage.zoom` made of small arrays: Tools/fixtures/make_zoom_fixtures.py. All triples are (z, y, x).
private struct ZoomFixtures: Decodable {
    struct Image: Decodable {
        let name: String
        let shape: [Int]
        let spacing: [Double]
        let newSpacing: [Double]
        let target: [Int]
        let image: String
        let result: String
        let truncated: String
    }

    struct Segmentation: Decodable {
        let name: String
        let shape: [Int]
        let target: [Int]
        let labels: String
        let result: String
    }

    let images: [Image]
    let segmentations: [Segmentation]

    static func load() throws -> ZoomFixtures {
        try JSONDecoder().decode(ZoomFixtures.self, from: Data(try Fixtures.bytes("resampling/zoom.json")))
    }
}

private func shape(_ zyx: [Int]) -> VolumeShape { VolumeShape(x: zyx[2], y: zyx[1], z: zyx[0]) }

@Suite("Resampling against SciPy's zoom")
struct ZoomTests {
    @Test("images come out bit for bit, with and without the conversion to integers")
    func images() throws {
        let fixtures = try ZoomFixtures.load()
        #expect(fixtures.images.count >= 10)
        for test in fixtures.images {
            let (source, target) = (shape(test.shape), shape(test.target))
            func spacing(_ zyx: [Double]) -> SIMD3<Double> { SIMD3(zyx[2], zyx[1], zyx[0]) }
            let computed = try targetShape(
                of: source,
                spacing: spacing(test.spacing),
                resampledTo: spacing(test.newSpacing)
            )
            #expect(computed == target, "\(test.name)")
            let rule = ResamplingRule(method: .zoom, order: .linear, separateZ: .never)
            let voxels = try FrozenVoxels(numbers(test.image) as [Float])
            func resampled(truncates: Bool) throws -> [Float] {
                try ImageResampler(
                    view: VoxelView(stored: source),
                    target: target,
                    rule: rule,
                    truncates: truncates
                ).resample(voxels, scope: .serial()).array()
            }
            #expect(
                try resampled(truncates: false) == (numbers(test.result) as [Double]).map { Float($0) },
                "\(test.name)"
            )
            let integers = (numbers(test.truncated) as [Int32]).map { Float($0) }
            #expect(try resampled(truncates: true) == integers, "\(test.name)")
        }
    }

    @Test("labels come out bit for bit, also on a grid stored in another order of axes")
    func labels() throws {
        let fixtures = try ZoomFixtures.load()
        #expect(fixtures.segmentations.count >= 10)
        let turned = AxisOrientation(source: [2, 0, 1], reversed: [true, false, true])
        for test in fixtures.segmentations {
            let (source, target) = (shape(test.shape), shape(test.target))
            let labels = try FrozenVoxels((numbers(test.labels) as [UInt8]).map { UInt16($0) })
            let expected = (numbers(test.result) as [UInt8]).map { UInt16($0) }
            let rule = ResamplingRule(method: .zoom, order: .linear)
            let found = try NearestLabels(source: source, stored: target, orientation: .stored, rule: rule)
                .stored(labels, scope: .serial())
            #expect(found.array() == expected, "\(test.name)")
            // The stored grid has axis a of the target as its axis source[a].
            let stored = turned.inverse.shape(from: target)
            let other = try NearestLabels(source: source, stored: stored, orientation: turned, rule: rule)
                .stored(labels, scope: .serial())
            let back = try Reorienter.copy(
                other.frozen(),
                through: VoxelView(stored: stored, orientation: turned),
                scope: .serial()
            )
            #expect(back.array() == expected, "\(test.name)")
        }
    }

    @Test("order 3, and truncation of splines, are refused")
    func refusals() {
        let view = VoxelView(stored: VolumeShape(x: 4, y: 4, z: 4))
        let target = VolumeShape(x: 5, y: 5, z: 5)
        #expect(throws: NumericsError.self) {
            try ImageResampler(view: view, target: target, rule: ResamplingRule(method: .zoom, order: .cubic))
        }
        #expect(throws: NumericsError.self) {
            try ImageResampler(view: view, target: target, rule: .image, truncates: true)
        }
    }
}
