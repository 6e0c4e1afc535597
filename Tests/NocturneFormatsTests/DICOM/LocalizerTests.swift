import NocturneFormats
import NocturneTestSupport
import Testing

@Suite("Localizers of three planes that do not call themselves so")
struct LocalizerTests {
    private static let planes: [(row: SIMD3<Double>, column: SIMD3<Double>)] = [
        (SIMD3(1, 0, 0), SIMD3(0, 1, 0)), (SIMD3(1, 0, 0), SIMD3(0, 0, -1)), (SIMD3(0, 1, 0), SIMD3(0, 0, -1)),
    ]

    private func series(_ count: Int, planes: Int = 3) -> [TestSlice] {
        Self.planes.prefix(planes).enumerated().flatMap { index, plane in
            TestSlice.stack(count, step: 10, row: plane.row, column: plane.column).map { slice in
                var slice = slice
                slice.instance += index * count
                return slice
            }
        }
    }

    @Test("few slices in three perpendicular planes are a localizer", arguments: [1, 3, 20])
    func threePlanes(count: Int) throws {
        let series = try onlySeries(series(count))
        #expect(series.problem?.code == .localizer)
        #expect(
            series.problem?.detail == "a localizer: three perpendicular planes with "
                + (count == 1 ? "one slice each" : "\(count), \(count), \(count) slices")
        )
    }

    @Test("two planes, and many slices in each, are volumes", arguments: [(3, 2), (21, 3)])
    func others(count: Int, planes: Int) throws {
        try withScan(shuffledFiles(series(count, planes: planes))) { scan in
            #expect(scan.series.count == planes)
            #expect(scan.series.allSatisfy { $0.problem == nil })
        }
    }
}
