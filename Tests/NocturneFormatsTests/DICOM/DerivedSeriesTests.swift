import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Images computed from others")
struct DerivedSeriesTests {
    private static let enhancedMR = "1.2.840.10008.5.1.4.1.1.4.1"

    private func slices(_ imageType: String, sopClass: String = TestSlice.ctClass, from first: Int = 1) -> [TestSlice] {
        TestSlice.stack(4).map { slice in
            var slice = slice
            slice.instance += first - 1
            slice.sopClass = sopClass
            slice.change = { $0.text(0x0008_0008, "CS", imageType) }
            return slice
        }
    }

    private func scan<R>(
        _ slices: [TestSlice],
        includesDerived: Bool,
        _ body: ([DICOMSeries]) throws -> R
    ) throws -> R {
        try TemporaryFolder.with("dicom") { folder in
            let paths = try shuffledFiles(slices).map { try folder.write($0.value, to: $0.key).path }
            let rules = DICOMSeries.Rules(includesDerived: includesDerived)
            return try body(try DICOMScanner.scan(paths: paths, scope: .serial(), rules: rules).series)
        }
    }

    @Test("are set aside, or volumes with a note where they are asked for")
    func included() throws {
        let slices = slices("DERIVED\\PRIMARY\\DIFFUSION\\ADC\\ND")
        try scan(slices, includesDerived: false) { #expect($0.map { $0.problem?.code } == [.derived]) }
        try scan(slices, includesDerived: true) { series in
            let found = try #require(series.first)
            #expect(series.count == 1 && found.problem == nil && found.part == nil)
            #expect(found.notes.texts.contains { $0.contains("DERIVED and DIFFUSION: computed from other images") })
            let again = try DICOMScanner.series(of: found.slices.map(DICOMSlice.Name.init), scope: .serial())
            #expect(again.problem == nil && again.geometry == found.geometry)
            _ = try DICOMReader.readVolume(again, scope: .serial())
        }
    }

    @Test("do not mix with the images of their series")
    func mixed() throws {
        let slices = slices("ORIGINAL\\PRIMARY\\M") + slices("DERIVED\\PRIMARY\\M\\FA", from: 9)
        try scan(slices, includesDerived: true) { series in
            #expect(series.map(\.part) == [nil, "derived"])
            #expect(series.map(\.problem) == [nil, nil])
            #expect(series.map(\.slices.count) == [4, 4])
        }
    }

    @Test(
        "enhanced images of an ordinary kind are not derived",
        arguments: ["VOLUME", "PERFUSION", "DIFFUSION", "FMRI"]
    )
    func flavours(flavour: String) throws {
        func code(_ imageType: String, _ sopClass: String) throws -> DICOMReadError.Code? {
            try scan(slices(imageType, sopClass: sopClass), includesDerived: false) { $0.first?.problem?.code }
        }
        #expect(try code("DERIVED\\PRIMARY\\\(flavour)\\NONE", Self.enhancedMR) == nil)
        #expect(try code("DERIVED\\PRIMARY\\\(flavour)\\ADC", Self.enhancedMR) == .derived)
        #expect(try code("DERIVED\\PRIMARY\\\(flavour)\\NONE", TestSlice.ctClass) == .derived)
    }
}
