import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

/// Against dcm2niix on public files; without the shared data nothing is checked, and a notice says so.
@Suite("Real series of several volumes, and leaning ones, become what dcm2niix makes of them")
struct SharedTriageTests {
    struct Expectation: Sendable {
        var folder: String
        var parts: Int
        var shape: VolumeShape
        var corrects = false
        /// Whether dcm2niix makes the same grid; its uneven stacks are on grids of their own.
        var isConverted = true
    }

    static let expectations = [
        Expectation(folder: "mr-enhanced/philips-fieldmap", parts: 2, shape: VolumeShape(x: 64, y: 64, z: 32)),
        Expectation(folder: "mr-enhanced/siemens-xa10-4d", parts: 4, shape: VolumeShape(x: 64, y: 64, z: 6)),
        Expectation(folder: "mr-enhanced/siemens-multiframe", parts: 1, shape: VolumeShape(x: 256, y: 256, z: 8)),
        Expectation(folder: "mr-mosaic/axasc36", parts: 2, shape: VolumeShape(x: 64, y: 64, z: 36)),
        Expectation(folder: "mr-mosaic/corasc36", parts: 2, shape: VolumeShape(x: 64, y: 64, z: 36)),
        Expectation(folder: "mr-mosaic/sagint35", parts: 2, shape: VolumeShape(x: 64, y: 64, z: 35)),
        Expectation(folder: "ct-irregular/mixed-orientation-mr", parts: 2, shape: VolumeShape(x: 288, y: 288, z: 2)),
        Expectation(
            folder: "ct-irregular/gantry-tilt-real",
            parts: 1,
            shape: VolumeShape(x: 512, y: 524, z: 8),
            corrects: true
        ),
        Expectation(
            folder: "ct-irregular/tilt-and-step-varies",
            parts: 1,
            shape: VolumeShape(x: 512, y: 514, z: 5),
            corrects: true,
            isConverted: false
        ),
    ]

    @Test("number, shape and place of the volumes", arguments: expectations.indices)
    func volumes(index: Int) throws {
        let expected = Self.expectations[index]
        guard let files = sharedFiles(expected.folder) else { return }
        let scan = try DICOMScanner.scan(
            paths: files,
            scope: .serial(),
            rules: DICOMSeries.Rules(correctsStacks: expected.corrects)
        )
        let problems = scan.series.compactMap { $0.problem?.detail }
        #expect(problems.isEmpty, "\(problems)")
        let found = scan.series.filter { $0.problem == nil }
        let parts = found.map { $0.part ?? "-" }
        #expect(found.count == expected.parts && Set(parts).count == parts.count, "\(parts)")
        for series in found {
            let geometry = try #require(series.geometry)
            #expect(geometry.shape == expected.shape)
            let volume = try DICOMReader.readVolume(series, scope: .serial())
            #expect(volume.geometry == geometry)
            let outputs = DICOMFacts.converted[expected.folder] ?? []
            guard expected.isConverted else { continue }
            let nearest = outputs.map { distance(geometry, shape: $0.shape, affine: $0.affine) }.min() ?? .infinity
            #expect(nearest < 0.02 + 1e-4 * Double(geometry.shape.x + geometry.shape.y), "\(nearest) mm")
        }
    }

    /// How far the corners of a grid are from those of another one, whatever the order of its axes.
    private func distance(_ geometry: VolumeGeometry, shape: [Int], affine: [[Double]]) -> Double {
        let other = VolumeGeometry(
            shape: VolumeShape(x: shape[0], y: shape[1], z: shape[2]),
            affine: Affine(rows: affine)
        )
        let others = corners(other)
        return corners(geometry).map { corner in others.map { length($0 - corner) }.min() ?? .infinity }.max()
            ?? .infinity
    }
}
