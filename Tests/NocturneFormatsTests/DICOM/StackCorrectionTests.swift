import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Leaning and uneven series are resampled on request")
struct StackCorrectionTests {
    /// A field that is linear in LPS+ mm, so that linear interpolation anywhere gives exactly its value.
    private static func field(_ point: SIMD3<Double>) -> Double { 1000 + 3 * point.x + 7 * point.y + 5 * point.z }

    /// Slices with `positions`, whose pixels are the field where they lie.
    private func slices(
        _ positions: [SIMD3<Double>],
        row: SIMD3<Double> = SIMD3(1, 0, 0),
        column: SIMD3<Double> = SIMD3(0, 1, 0)
    ) -> [TestSlice] {
        positions.enumerated().map { k, position in
            var slice = TestSlice(instance: k + 1, position: position, row: row, column: column)
            slice.cells = (0..<48).map { index in
                let (i, j) = (Double(index % 8), Double(index / 8))
                return UInt16((Self.field(position + row * (0.5 * i) + column * (2 * j)) * 8).rounded())
            }
            slice.slope = (0.125, 0)
            return slice
        }
    }

    private func corrected<R>(_ slices: [TestSlice], _ body: (DICOMSeries, Volume) throws -> R) throws -> R {
        try TemporaryFolder.with("dicom") { folder in
            let paths = try shuffledFiles(slices).map { try folder.write($0.value, to: $0.key).path }
            let plain = try DICOMScanner.scan(paths: paths, scope: .serial()).series
            #expect(plain.count == 1 && plain[0].problem != nil && plain[0].correction == nil)
            let series = try DICOMScanner.scan(
                paths: paths,
                scope: .serial(),
                rules: DICOMSeries.Rules(correctsStacks: true)
            ).series
            #expect(series.count == 1 && series[0].problem == nil)
            #expect(plain[0].possibleCorrection == series[0].correction)
            #expect(series[0].geometry == series[0].correction?.geometry)
            return try body(series[0], try DICOMReader.readVolume(series[0], scope: .serial()))
        }
    }

    /// Voxels inside the stack have the field's value at their place; the rest has the least stored one, but for the
    /// last pixel of each slice, which is held where its neighbour would be beyond the edge.
    private func expectField(_ volume: Volume, inside: Int, tolerance: Double) {
        let (shape, all) = (volume.geometry.shape, voxels(volume))
        let least = all.min() ?? 0
        var right = 0
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                for i in 0..<shape.x {
                    let value = all[(k * shape.y + j) * shape.x + i]
                    let ras = volume.geometry.affine(SIMD3(Double(i), Double(j), Double(k)))
                    let expected = Self.field(ras * SIMD3(-1, -1, 1))
                    if abs(Double(value) - expected) < tolerance {
                        right += 1
                    } else {
                        let around = [(-2, 0), (-1, 0), (1, 0), (2, 0), (0, -2), (0, -1), (0, 1), (0, 2)]
                        let isEdge = around.contains { (x, y) in
                            let (i, j) = (i + x, j + y)
                            guard i >= 0, j >= 0, i < shape.x, j < shape.y else { return true }
                            return all[(k * shape.y + j) * shape.x + i] == least
                        }
                        #expect(value == least || isEdge, "\(value) at \(i), \(j), \(k) for \(expected)")
                    }
                }
            }
        }
        #expect(right >= inside, "\(right) of \(shape.count)")
    }

    @Test("a tilt is corrected by shearing", arguments: [0.9, -0.9, 0.25])
    func tilt(shift: Double) throws {
        let stack = slices(
            (0..<6).map { (k: Int) -> SIMD3<Double> in SIMD3(-10, 20 + shift * Double(k), 30 + 3 * Double(k)) }
        )
        try corrected(stack) { series, volume in
            let correction = try #require(series.correction)
            #expect(abs(correction.tiltDegrees - atan(abs(shift) / 3) * 180 / Double.pi) < 1e-6)
            #expect(correction.interpolatedPlanes == 0)
            // Rows are 2 mm apart: the whole shift, rounded up.
            let growth = Int((5 * abs(shift) / 2).rounded(.up))
            #expect(volume.geometry.shape == VolumeShape(x: 8, y: 6 + growth, z: 6))
            #expect(length(volume.geometry.spacing - SIMD3(0.5, 2, 3)) < 1e-9)
            let columns = volume.geometry.affine
            #expect(abs(dot(columns.columnJ, columns.columnK)) < 1e-9)
            // Every slice keeps at least its rows but one.
            expectField(volume, inside: 6 * 8 * 5, tolerance: 0.07)
            #expect(
                series.notes.texts.contains { $0.contains("resampled: tilt of") && $0.contains("8×6×6 voxels became") }
            )
        }
    }

    @Test("a tilt about the other axis of an oblique plane too")
    func obliqueTilt() throws {
        let (row, column) = (SIMD3(0.8, 0.6, 0), SIMD3(-0.36, 0.48, 0.8))
        let normal = cross(row, column)
        let step: SIMD3<Double> = normal * 2.5 + row * 0.3
        let origin = SIMD3<Double>(-10, 20, 30)
        let positions = (0..<6).map { (k: Int) -> SIMD3<Double> in origin + step * Double(k) }
        let stack = slices(positions, row: row, column: column)
        try corrected(stack) { _, volume in
            #expect(volume.geometry.shape == VolumeShape(x: 11, y: 6, z: 6))
            let affine = volume.geometry.affine
            #expect(abs(dot(affine.columnI, affine.columnK)) < 1e-9)
            expectField(volume, inside: 6 * 6 * 7, tolerance: 0.07)
        }
    }

    @Test("a missing slice is interpolated from its neighbours, and no other is touched")
    func missing() throws {
        var stack = slices((0..<10).map { (k: Int) -> SIMD3<Double> in SIMD3(-10, 20, 30 + 1.5 * Double(k)) })
        stack.remove(at: 4)
        try corrected(stack) { series, volume in
            #expect(volume.geometry.shape == VolumeShape(x: 8, y: 6, z: 10))
            #expect(series.correction?.interpolatedPlanes == 1)
            #expect(abs(volume.geometry.spacing.z - 1.5) < 1e-9)
            let all = voxels(volume)
            #expect(Array(all[5 * 48..<6 * 48]) == stack[4].cells.map { Float($0) / 8 })
            expectField(volume, inside: volume.geometry.shape.count, tolerance: 0.07)
        }
    }

    @Test("two distances are resampled to the shorter")
    func twoDistances() throws {
        let heights: [Double] = [0, 2, 4, 6, 8, 13, 18, 23, 28]
        try corrected(slices(heights.map { SIMD3(-10, 20, $0) })) { series, volume in
            #expect(volume.geometry.shape == VolumeShape(x: 8, y: 6, z: 15))
            #expect(abs(volume.geometry.spacing.z - 2) < 1e-9)
            expectField(volume, inside: volume.geometry.shape.count, tolerance: 0.07)
            #expect(series.notes.texts.contains { $0.contains("steps of 2.0 to 5.0 mm resampled to 2.0 mm") })
        }
    }

    @Test("both at once, on any number of threads")
    func both() async throws {
        let heights: [Double] = [0, 1, 2, 3, 5, 6, 7]
        let stack = slices(heights.map { SIMD3(-10, 20 + 0.4 * $0, 30 + 2 * $0) })
        try corrected(stack) { series, volume in
            #expect(volume.geometry.shape == VolumeShape(x: 8, y: 8, z: 8))
            expectField(volume, inside: 8 * 8 * 5, tolerance: 0.07)
        }
        let folder = try TemporaryFolder("dicom")
        let paths = try shuffledFiles(stack).map { try folder.write($0.value, to: $0.key).path }
        let results = try await resultsForWidths { scope in
            let series = try DICOMScanner.scan(
                paths: paths,
                scope: scope,
                rules: DICOMSeries.Rules(correctsStacks: true)
            ).series
            return voxels(try DICOMReader.readVolume(series[0], scope: scope))
        }
        #expect(results.allSatisfy { $0 == results[0] })
    }

    @Test(
        "what would be invented rather than moved stays refused, with figures",
        arguments: [
            ([0, 1, 2, 6, 7, 8.0], [0, 0, 0, 0, 0, 0.0], "only single missing slices can be interpolated"),
            ([0, 1, 2, 3.0], [0, 5, 10, 15.0], "is tilted by more than 45.0°"),
            ([0, 1, 2, 3, 4.0], [0, 0, 3, 0, 0.0], "slice 3 lies 3.0 mm away from the line of the others"),
            ([0, 0.05, 10, 20, 30, 40.0], [0, 0, 0, 0, 0, 0.0], "steps from 0.05 to 10.0 mm are too uneven"),
        ]
    )
    func impossible(heights: [Double], shifts: [Double], words: String) throws {
        let stack = slices(zip(heights, shifts).map { SIMD3(-10, 20 + $1, $0) })
        try TemporaryFolder.with("dicom") { folder in
            let paths = try shuffledFiles(stack).map { try folder.write($0.value, to: $0.key).path }
            let series = try DICOMScanner.scan(
                paths: paths,
                scope: .serial(),
                rules: DICOMSeries.Rules(correctsStacks: true)
            ).series
            #expect(series.count == 1 && series[0].geometry == nil && series[0].possibleCorrection == nil)
            let detail = try #require(series[0].problem).detail
            #expect(detail.contains(words), "\(detail)")
        }
    }

    @Test("slices further apart sideways than any matrix is wide are refused", arguments: [false, true])
    func far(corrects: Bool) throws {
        var stack = TestSlice.stack(3)
        for k in stack.indices {
            // Powers of two: no rounding puts a slice off the line of the others.
            let (x, z) = (String(format: "%.0f", 0x1p70 * Double(k)), String(format: "%.0f", 0x1p71 * Double(k)))
            stack[k].change = { $0.text(0x0020_0032, "DS", "\(x)\\0\\\(z)") }
        }
        try TemporaryFolder.with("dicom") { folder in
            let paths = try shuffledFiles(stack).map { try folder.write($0.value, to: $0.key).path }
            let series = try DICOMScanner.scan(
                paths: paths,
                scope: .serial(),
                rules: DICOMSeries.Rules(correctsStacks: corrects)
            ).series
            #expect(series.count == 1 && series[0].possibleCorrection == nil)
            let problem = try #require(series[0].problem)
            #expect(problem.code == .sheared && problem.detail.contains("pixels apart sideways"))
        }
    }

    @Test("an even, upright series is not touched by the request")
    func untouched() throws {
        try TemporaryFolder.with("dicom") { folder in
            let paths = try shuffledFiles(TestSlice.stack(5)).map { try folder.write($0.value, to: $0.key).path }
            let series = try DICOMScanner.scan(
                paths: paths,
                scope: .serial(),
                rules: DICOMSeries.Rules(correctsStacks: true)
            ).series
            #expect(series.map(\.correction) == [nil] && series[0].notes.isEmpty)
        }
    }
}
