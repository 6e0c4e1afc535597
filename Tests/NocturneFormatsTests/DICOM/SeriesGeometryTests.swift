import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The grid of a DICOM series")
struct SeriesGeometryTests {
    /// Row and column directions in LPS+, and the letters in which i, j, k grow in RAS terms.
    static let planes: [(row: SIMD3<Double>, column: SIMD3<Double>, code: String)] = [
        (SIMD3(1, 0, 0), SIMD3(0, 1, 0), "LPS"),  // axial, head first
        (SIMD3(-1, 0, 0), SIMD3(0, 1, 0), "RPI"),  // axial, seen from above
        (SIMD3(1, 0, 0), SIMD3(0, 0, -1), "LIP"),  // coronal
        (SIMD3(0, 1, 0), SIMD3(0, 0, -1), "PIR"),  // sagittal
        (SIMD3(0.8, 0.6, 0), SIMD3(-0.36, 0.48, 0.8), "LSA"),  // oblique
    ]

    @Test(
        "maps voxels to RAS+ by position, orientation and spacing",
        arguments: planes.indices,
        TestSlice.Syntax.allCases
    )
    func affine(plane: Int, syntax: TestSlice.Syntax) throws {
        let (row, column, code) = Self.planes[plane]
        let origin = SIMD3<Double>(-12.5, 31.25, 7)
        let slices = TestSlice.stack(5, step: 2.5, origin: origin, row: row, column: column)
        try withScan(shuffledFiles(slices, syntax)) { scan in
            let series = try #require(scan.series.first)
            #expect(series.problem == nil)
            let geometry = try #require(series.geometry)
            #expect(geometry.shape == VolumeShape(x: 8, y: 6, z: 5))
            let normal = cross(row, column)
            let flip = SIMD3<Double>(-1, -1, 1)
            for index in [SIMD3<Double>(0, 0, 0), SIMD3(7, 0, 0), SIMD3(0, 5, 0), SIMD3(0, 0, 4), SIMD3(3, 2, 1)] {
                // Columns are 0.5 mm apart, rows 2 mm.
                let lps = origin + row * (0.5 * index.x) + column * (2 * index.y) + normal * (2.5 * index.z)
                #expect(length(geometry.affine(index) - lps * flip) < 1e-9)
            }
            if plane < 4 { #expect(geometry.orientationCode == code) }
            #expect(geometry.affine.determinant > 0)
        }
    }

    @Test("orders slices by position, whatever their names and instance numbers")
    func order() throws {
        var slices = TestSlice.stack(9)
        for k in slices.indices { slices[k].instance = (k * 5) % 9 + 1 }
        try withScan(shuffledFiles(slices)) { scan in
            let series = try #require(scan.series.first)
            let heights: [Double?] = (0..<9).map { 30 + 1.5 * Double($0) }
            #expect(series.slices.map { $0.plane.position?.z } == heights)
            let volume = try DICOMReader.readVolume(series, scope: .serial())
            #expect(voxels(volume) == slices.flatMap { $0.cells.map { Float($0) } })
        }
    }

    @Test("the scan does not depend on the order of paths or on threads")
    func independentOfThreads() async throws {
        let folder = try TemporaryFolder("dicom")
        var paths: [String] = []
        for (number, slices) in [TestSlice.stack(6), TestSlice.stack(4, step: 3)].enumerated() {
            for var slice in slices {
                slice.series = "1.2.\(number + 5)"
                paths.append(try folder.write(slice.file(), to: "\(slice.instance)-\(number)").path)
            }
        }
        paths.append(try folder.write("no image at all", to: "notes.txt").path)
        let forwards = paths
        let results = try await resultsForWidths { scope in
            let scan = try DICOMScanner.scan(paths: forwards, scope: scope)
            let volumes = try scan.series.map { try DICOMReader.readVolume($0, scope: scope) }
            return (scan, volumes.map { voxels($0) })
        }
        let reversed = try DICOMScanner.scan(paths: paths.reversed() + paths, scope: .serial())
        for (scan, values) in results {
            #expect(scan.series.map(\.slices) == reversed.series.map(\.slices))
            #expect(scan.series.map(\.geometry) == reversed.series.map(\.geometry))
            #expect(scan.series.count == 2)
            #expect(scan.notDICOM == [folder("notes.txt").path])
            #expect(values == results[0].1)
        }
    }

    @Test("two series in one folder stay apart")
    func twoSeries() throws {
        var other = TestSlice.stack(4, step: 3, row: SIMD3(0, 1, 0), column: SIMD3(0, 0, -1))
        for k in other.indices { other[k].series = "9.9" }
        try withScan(shuffledFiles(TestSlice.stack(3) + other)) { scan in
            #expect(scan.series.map(\.problem) == [nil, nil])
            #expect(Set(scan.series.map(\.slices.count)) == [3, 4])
            #expect(Set(scan.series.map(\.seriesInstanceUID)) == ["1.2.3.4", "9.9"])
        }
    }

    @Test("without SeriesInstanceUID files are grouped by folder, and the note says so")
    func groupedByFolder() throws {
        var files: [String: [UInt8]] = [:]
        for var slice in TestSlice.stack(3) {
            slice.change = { $0.remove(0x0020_000E) }
            files["a/\(slice.instance)"] = slice.file()
            files["b/\(slice.instance)"] = slice.file()
        }
        try withScan(files) { scan in
            #expect(scan.series.map(\.slices.count) == [3, 3])
            for series in scan.series {
                #expect(series.geometry != nil)
                #expect(series.notes.texts.contains { $0.contains("SeriesInstanceUID") })
            }
        }
    }

    @Test("decimal strings with noise in the last digits still make an even grid")
    func noise() throws {
        var slices = TestSlice.stack(40, step: 0.625)
        var random = SplitMix64(seed: 3)
        for k in slices.indices {
            let z = 30 + 0.625 * Double(k)
            slices[k].change = { set in
                // Two digits after the point, as some scanners write.
                set.text(0x0020_0032, "DS", "-10.00\\ 20.0 \\\((z * 100).rounded() / 100)")
            }
            slices[k].row = SIMD3(1, random.unit() * 1e-5, 0)
        }
        let series = try onlySeries(slices)
        #expect(series.problem == nil)
        #expect(abs((series.geometry?.spacing.z ?? 0) - 0.625) < 3e-4)
    }

    @Test("spacing comes from positions, not from SliceThickness")
    func thicknessIsNotSpacing() throws {
        var slices = TestSlice.stack(4, step: 2)
        for k in slices.indices {
            slices[k].change = {
                $0.text(0x0018_0050, "DS", "5")
                $0.text(0x0018_0088, "DS", "7")
            }
        }
        let series = try onlySeries(slices)
        #expect(series.geometry?.spacing == SIMD3(0.5, 2, 2))
        #expect(series.slices.first?.plane.sliceThickness == 5)
    }
}
