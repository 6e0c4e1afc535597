import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

/// What one file states is met by the fuzzing of readers; what several state together, only here.
@Suite("Slices whose headers state figures of no body")
struct AbsurdHeaderTests {
    private static let usual = [0, 0.5, 1, 2, 3, 5]
    private static let absurd = [1e-300, 1e-40, 1e-20, 1e-7, 1e5, 1e9, 1e20, 1e40, 1e200, 1e300, -1, -1e-20, -1e300]

    /// Two to four slices, in which some figures are absurd, mostly the same ones.
    private func series(_ number: Int, _ random: inout SplitMix64) -> [TestSlice] {
        func figure(_ odds: Double) -> Double {
            let figures = random.unit() < odds ? Self.absurd : Self.usual
            return figures[Int(random.next() % UInt64(figures.count))]
        }
        let odds = [0, 0.1, 0.5][Int(random.next() % 3)]
        let spacing = (figure(0.3), figure(0.3))
        let turns = random.unit() < 0.2
        let row = turns ? SIMD3(figure(odds), figure(odds), figure(odds)) : SIMD3(1, 0, 0)
        let step = SIMD3(figure(0.2), figure(0.2), figure(0.2))
        let thickness = figure(0.5)
        let window = (figure(0.5), figure(0.5))
        let slope = random.unit() < 0.3 ? (figure(0.5), figure(0.5)) : nil
        return (0..<Int(2 + random.next() % 3)).map { index in
            var slice = TestSlice()
            slice.series = "1.2.3.\(number)"
            slice.instance = index + 1
            slice.position = step * Double(index)
            if random.unit() < odds { slice.position.x += figure(0.5) }
            slice.row = row
            slice.spacing = spacing
            slice.slope = slope
            slice.change = { set in
                set.text(0x0018_0050, "DS", "\(thickness)")
                set.text(0x0028_1050, "DS", "\(window.0)")
                set.text(0x0028_1051, "DS", "\(window.1)")
            }
            return slice
        }
    }

    @Test("are a grid of finite figures or have a problem, and are the end of nobody", arguments: [false, true])
    func absurd(corrects: Bool) throws {
        let folder = try TemporaryFolder("absurd")
        var random = SplitMix64(seed: corrects ? 3 : 4)
        var paths: [String] = []
        for number in 0..<700 {
            for slice in series(number, &random) {
                paths.append(try folder.write(slice.file(), to: "\(number)/\(slice.instance).dcm").path)
            }
        }
        let scan = try DICOMScanner.scan(
            paths: paths,
            scope: .serial(),
            rules: DICOMSeries.Rules(correctsStacks: corrects)
        )
        #expect(scan.notDICOM.isEmpty)
        var grids = 0
        for series in scan.series {
            guard let geometry = series.geometry else {
                #expect(series.problem != nil)
                // Slices of an even stack that are too far apart for their thickness.
                if series.problem?.detail.contains("part of a series") == true { grids += 1 }
                continue
            }
            grids += 1
            let spacing = geometry.spacing
            #expect(spacing.x.isFinite && spacing.y.isFinite && spacing.z.isFinite && spacing.min() > 0)
            #expect(geometry.affine.inverse != nil)
            if geometry.shape.count < 1 << 20 { _ = try? DICOMReader.readVolume(series, scope: .serial()) }
        }
        #expect(grids > 20 && grids < scan.series.count - 100, "\(grids) of \(scan.series.count)")
    }
}
