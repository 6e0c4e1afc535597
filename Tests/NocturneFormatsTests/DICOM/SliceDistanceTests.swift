import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Distances of slices: rounded positions, wide gaps, slabs")
struct SliceDistanceTests {
    private func slices(_ heights: [Double], thickness: [Double?], spacing: Double? = nil) -> [TestSlice] {
        zip(heights, thickness).enumerated().map { index, place in
            var slice = TestSlice(instance: index + 1, position: SIMD3(-10, 20, place.0))
            slice.change = { set in
                if let thickness = place.1 { set.text(0x0018_0050, "DS", "\(thickness)") }
                if let spacing { set.text(0x0018_0088, "DS", "\(spacing)") }
            }
            return slice
        }
    }

    private func scan(_ slices: [TestSlice], _ rules: DICOMSeries.Rules = DICOMSeries.Rules()) throws -> [DICOMSeries] {
        try TemporaryFolder.with("dicom") { folder in
            let paths = try shuffledFiles(slices).map { try folder.write($0.value, to: $0.key).path }
            return try DICOMScanner.scan(paths: paths, scope: .serial(), rules: rules).series
        }
    }

    // MARK: Rounded positions

    private func rounded(_ change: (inout SIMD3<Double>, Int) -> Void = { _, _ in }) -> [TestSlice] {
        TestSlice.stack(20, step: 3.3, row: SIMD3(0.8, 0.48, 0.36), column: SIMD3(-0.6, 0.64, 0.48)).enumerated().map {
            (k, slice) in
            var slice = slice
            change(&slice.position, k)
            let position = slice.position
            slice.change = { set in
                let text = (0..<3).map { String(format: "%.1f", position[$0]) }.joined(separator: "\\")
                set.text(0x0020_0032, "DS", text)
            }
            return slice
        }
    }

    @Test("positions of an oblique stack rounded to 0.1 mm make an even grid")
    func roundedPositions() throws {
        let series = try scan(rounded())
        #expect(series.count == 1 && series[0].problem == nil)
        #expect(abs((series[0].geometry?.spacing.z ?? 0) - 3.3) < 0.01)
        #expect(series[0].notes.texts.contains { $0.contains("is rounded: slices lie up to 0.0") })
        let corrected = try scan(rounded(), DICOMSeries.Rules(correctsStacks: true))
        #expect(corrected[0].correction == nil && corrected[0].geometry == series[0].geometry)
    }

    @Test("a slice a quarter of a millimetre off is no rounding")
    func moved() throws {
        let series = try scan(rounded { position, k in if k == 7 { position += SIMD3(0, -0.15, 0.2) } })
        #expect(series[0].problem?.code == .spacingNotUniform)
    }

    @Test("a tilted stack with rounded positions is sheared, and its slices stay the planes of the grid")
    func roundedTilt() throws {
        let slices = rounded { position, k in position += SIMD3(0.8, 0.48, 0.36) * Double(k) }
        let series = try scan(slices, DICOMSeries.Rules(correctsStacks: true))
        let correction = try #require(series[0].correction)
        #expect(correction.tiltDegrees > 10 && correction.interpolatedPlanes == 0)
        #expect(correction.geometry.shape.z == 20)
    }

    // MARK: Wide gaps

    @Test("few slices much further apart than they are thick are part of a series", arguments: [45.0, 100])
    func fragment(step: Double) throws {
        let series = try scan(slices([0, step], thickness: [5, 7.5]))
        #expect(series[0].geometry == nil)
        let problem = try #require(series[0].problem)
        #expect(problem.code == .missingSlices)
        #expect(problem.detail.hasPrefix("2 slices \(step) mm apart, but SliceThickness (0018,0050) is 7.5 mm"))
        #expect(throws: problem) { try DICOMReader.readVolume(series[0], scope: .serial()) }
    }

    @Test("many slices further apart than they are thick are a volume with a note")
    func sparse() throws {
        let series = try scan(slices((0..<6).map { 10 * Double($0) }, thickness: Array(repeating: 1.25, count: 6)))
        #expect(series[0].problem == nil)
        #expect(series[0].notes.texts.contains { $0.hasPrefix("6 slices 10.0 mm apart, but SliceThickness") })
    }

    @Test("slices at uneven distances are noted with the distances of the correction")
    func sparseAndUneven() throws {
        let uneven = slices([0, 6, 9, 15, 21, 27], thickness: Array(repeating: 3, count: 6))
        let series = try scan(uneven, DICOMSeries.Rules(correctsStacks: true))
        #expect(series[0].problem == nil && series[0].correction?.interpolatedPlanes == 4)
        #expect(series[0].notes.texts.contains { $0.hasPrefix("6 slices 3.0 to 6.0 mm apart, but SliceThickness") })
    }

    @Test("a stated distance, and a gap of half a thickness, are ordinary")
    func ordinaryGaps() throws {
        let stated = try scan(slices([0, 45], thickness: [5, 5], spacing: 45))
        #expect(stated[0].problem == nil && stated[0].notes.isEmpty)
        let gap = try scan(slices([0, 7.5], thickness: [5, 5], spacing: 2.5))
        #expect(gap[0].problem == nil && gap[0].notes.isEmpty)
        let unstated = try scan(slices([0, 45], thickness: [nil, nil]))
        #expect(unstated[0].problem == nil && unstated[0].notes.isEmpty)
    }

    // MARK: Slabs

    private func head() -> [TestSlice] {
        let heights = [0.0, 4, 8, 12, 16, 21.5, 28.5, 35.5, 42.5]
        return slices(heights, thickness: heights.map { $0 < 20 ? 4 : 7 })
    }

    @Test("slabs of 4 and 7 mm are one volume each, or one volume by resampling")
    func slabs() throws {
        let parts = try scan(head())
        #expect(parts.map(\.part) == ["thickness4", "thickness7"])
        #expect(parts.map(\.problem) == [nil, nil])
        #expect(parts.map { $0.geometry?.spacing.z } == [4, 7])
        #expect(parts[0].notes.texts.contains { $0.contains("SliceThickness (0018,0050) is 4, one of 4, 7") })
        let whole = try scan(head(), DICOMSeries.Rules(correctsStacks: true))
        #expect(whole.count == 1 && whole[0].part == nil && whole[0].problem == nil)
        #expect(whole[0].correction?.interpolatedPlanes ?? 0 > 0)
    }

    @Test("slabs with a slice missing from one of them stay refused")
    func incompleteSlabs() throws {
        var slices = head()
        slices.remove(at: 2)
        let series = try scan(slices)
        #expect(series.count == 1 && series[0].problem != nil)
    }

    @Test("a short step where slabs meet is resampled at the median step")
    func shortStep() throws {
        let heights = [0.0, 4, 8, 12, 16, 17, 24, 31]
        let series = try scan(
            slices(heights, thickness: heights.map { _ in nil }),
            DICOMSeries.Rules(correctsStacks: true)
        )
        #expect(series[0].problem == nil)
        #expect(series[0].geometry?.spacing.z == 31.0 / 8)
        #expect(series[0].geometry?.shape.z == 9)
    }
}
