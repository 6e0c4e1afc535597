import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

/// A series on the disk and its grid. The folder goes with the value.
struct SourceSeries {
    let folder: TemporaryFolder
    let geometry: VolumeGeometry
    let sources: [DICOMSlice.Name]

    static let directions: [(name: String, row: SIMD3<Double>, column: SIMD3<Double>)] = [
        ("axial", SIMD3(1, 0, 0), SIMD3(0, 1, 0)),
        ("reversed", SIMD3(1, 0, 0), SIMD3(0, -1, 0)),
        ("sagittal", SIMD3(0, 1, 0), SIMD3(0, 0, -1)),
        ("oblique", SIMD3(0.8, 0.48, 0.36), SIMD3(-0.6, 0.64, 0.48)),
    ]

    /// - Parameter columns: rows are one fewer.
    init(
        _ direction: Int,
        slices: Int = 5,
        columns: Int = 7,
        isMisstated: Bool = false,
        change: @escaping (inout DICOMDataSet) -> Void = { _ in }
    ) throws {
        folder = try TemporaryFolder("source")
        let chosen = Self.directions[direction]
        var paths: [String] = []
        for (index, slice) in TestSlice.stack(slices, row: chosen.row, column: chosen.column).enumerated() {
            var slice = slice
            slice.change = { set in
                set.short(0x0028_0010, columns - 1)
                set.short(0x0028_0011, columns)
                set.bytes(0x7FE0_0010, "OW", [UInt8](repeating: 1, count: columns * (columns - 1) * 2))
                set.text(0x0008_0020, "DA", "20010203")
                set.text(0x0020_0052, "UI", "1.2.99")
                set.text(0x0020_0011, "IS", "4")
                change(&set)
            }
            let file = isMisstated ? slice.misstatedFile(.explicit) : slice.file()
            paths.append(try folder.write(file, to: "\(index).dcm").path)
        }
        let scan = try DICOMScanner.scan(paths: paths, scope: .serial())
        let series = try #require(scan.series.first)
        geometry = try #require(series.geometry)
        sources = series.slices.map { DICOMSlice.Name(path: $0.path) }
    }

    /// Values 0, 3, 40 and 65535 at random; slice 1 is empty.
    func labels(seed: UInt64 = 1) throws -> LabelVolume {
        var random = SplitMix64(seed: seed)
        let shape = geometry.shape
        let values: [UInt16] = [0, 3, 40, 65535]
        let voxels = (0..<shape.count).map { $0 / shape.sliceCount == 1 ? 0 : values[Int(random.next() % 4)] }
        return LabelVolume(geometry: geometry, voxels: try FrozenVoxels(voxels))
    }
}

let testSegments: [DICOMSegmentation.LabelSegment] = [
    DICOMSegmentation.LabelSegment(
        value: 40,
        label: "kidney",
        color: LabelColor(red: 10, green: 200, blue: 30),
        type: CodedConcept(scheme: "SCT", value: "64033007", meaning: "Kidney")
    ),
    DICOMSegmentation.LabelSegment(
        value: 9,
        label: "absent",
        color: LabelColor(red: 0, green: 0, blue: 0),
        type: .uncoded("absent")
    ),
    DICOMSegmentation.LabelSegment(
        value: 3,
        label: "Nieren\\größe",
        color: LabelColor(red: 255, green: 0, blue: 128),
        category: CodedConcept(scheme: "SCT", value: "49755003", meaning: "Morphologically Abnormal Structure"),
        type: CodedConcept(scheme: "99TEST", value: "A-VERY-LONG-CODE-VALUE", meaning: "Something")
    ),
]

let testMaker = DICOMObjectOrigin.Maker(software: "test 1", algorithm: "model 2", description: "Test")
let testFingerprint = ContentDigest.of("a test")

@Suite("Segmentations are written and read again")
struct SegmentationWriterTests {
    private func write(_ source: SourceSeries, _ labels: LabelVolume, to name: String = "out.dcm") throws -> String {
        let path = source.folder(name).path
        let values = try DICOMSegmentation.write(
            labels,
            segments: testSegments,
            from: DICOMObjectOrigin(sources: source.sources, maker: testMaker, fingerprint: testFingerprint),
            to: path,
            scope: .serial()
        )
        #expect(values == [40, 3])
        return path
    }

    @Test("voxels, names, codes and colours come back", arguments: SourceSeries.directions.indices, [7, 8, 9])
    func roundTrip(direction: Int, columns: Int) throws {
        let source = try SourceSeries(direction, columns: columns)
        let labels = try source.labels()
        let path = try write(source, labels)
        let back = try DICOMSegmentation.read(path: path, on: source.geometry)
        #expect(back.kind == .binary)
        #expect(back.masks.count == 1)
        let mask = try #require(back.masks.first)
        let expected: [UInt16: UInt16] = [0: 0, 40: 1, 3: 2, 65535: 0]
        #expect((0..<mask.voxels.count).allSatisfy { mask.voxels[$0] == expected[labels.voxels[$0]] })
        #expect(back.segments.map(\.label) == ["kidney", "Nieren_größe"])
        #expect(back.segments.map(\.color) == [testSegments[0].color, testSegments[2].color])
        #expect(back.segments.map(\.type) == [testSegments[0].type, testSegments[2].type])
        #expect(back.segments.map(\.category) == [.anatomicalStructure, testSegments[2].category])
        #expect(back.segments.allSatisfy { $0.algorithmType == "AUTOMATIC" && $0.algorithmName == "model 2" })
        #expect(try DICOMObject.readHeader(path: path).studyInstanceUID == "1.2.3")
        #expect(back.referencedSeriesUID == "1.2.3.4")
        #expect(back.frameOfReferenceUID == "1.2.99")
        #expect(back.notes.isEmpty)
        // By itself: the same place, and the empty slice in between is not lost.
        let alone = try DICOMSegmentation.read(path: path)
        #expect(alone.geometry.matches(source.geometry))
    }

    @Test("the same bytes again, with any number of threads; dates and patient are the source's")
    func deterministic() async throws {
        let source = try SourceSeries(0, slices: 40, columns: 9)
        let labels = try source.labels()
        let first = try Data(contentsOf: URL(fileURLWithPath: try write(source, labels)))
        let (folder, sources) = (source.folder, source.sources)
        let again = try await resultsForWidths { scope in
            let path = folder("again\(scope.width).dcm").path
            try DICOMSegmentation.write(
                labels,
                segments: testSegments,
                from: DICOMObjectOrigin(sources: sources, maker: testMaker, fingerprint: testFingerprint),
                to: path,
                scope: scope
            )
            return try Data(contentsOf: URL(fileURLWithPath: path))
        }
        #expect(again.allSatisfy { $0 == first })
        #expect(first.range(of: Data("Nobody^At All".utf8)) != nil)
        #expect(first.range(of: Data("20010203".utf8)) != nil)
        let year = Calendar(identifier: .gregorian).component(.year, from: Date())
        #expect(first.range(of: Data("DA\u{8}\0\(year)".utf8)) == nil)
    }

    @Test("a series says which program and model it is from, and has a number of its own beside the source's")
    func series() throws {
        let source = try SourceSeries(0)
        let labels = try source.labels()
        func elements(_ algorithm: String) throws -> [String] {
            let path = source.folder("\(algorithm).dcm").path
            try DICOMSegmentation.write(
                labels,
                segments: testSegments,
                from: DICOMObjectOrigin(
                    sources: source.sources,
                    maker: DICOMObjectOrigin.Maker(
                        software: "Program 9",
                        algorithm: algorithm,
                        description: "Seg: \(algorithm)"
                    ),
                    fingerprint: testFingerprint
                ),
                to: path,
                scope: .serial()
            )
            let file = try Data(contentsOf: URL(fileURLWithPath: path))
            return [0x0020_0011, 0x0008_103E, 0x0018_1020].map { Self.text(of: $0, in: file) ?? "" }
        }
        let (first, second) = (try elements("model 1"), try elements("model 2"))
        #expect(first[1...] == ["Seg: model 1", "Program 9"])
        #expect(second[1...] == ["Seg: model 2", "Program 9"])
        // The source is series 4.
        #expect([first, second].allSatisfy { (4001...4998).contains(Int($0[0]) ?? 0) })
        #expect(first[0] != second[0])
    }

    /// The text of an element in a file of explicit VR and little endian.
    private static func text(of tag: Int, in file: Data) -> String? {
        let mark = [tag >> 16 & 0xFF, tag >> 24, tag & 0xFF, tag >> 8 & 0xFF].map { UInt8($0) }
        let places = ["IS", "LO"].lazy.compactMap { file.range(of: Data(mark + $0.utf8)) }
        guard let place = places.first else { return nil }
        let (start, length) = (place.upperBound + 2, Int(file[place.upperBound]))
        return String(decoding: file[start..<start + length], as: UTF8.self).trimmingCharacters(in: .whitespaces)
    }

    @Test("nothing is written when no label is there")
    func nothing() throws {
        let source = try SourceSeries(0)
        let empty = LabelVolume(
            geometry: source.geometry,
            voxels: try FrozenVoxels([UInt16](repeating: 0, count: source.geometry.shape.count))
        )
        let path = source.folder("none.dcm").path
        let values = try DICOMSegmentation.write(
            empty,
            segments: testSegments,
            from: DICOMObjectOrigin(sources: source.sources, maker: testMaker, fingerprint: testFingerprint),
            to: path,
            scope: .serial()
        )
        #expect(values.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    private func fault(_ source: SourceSeries, _ sources: [DICOMSlice.Name], path: String? = nil) throws
        -> DICOMWriteError?
    {
        let labels = try source.labels()
        do {
            try DICOMSegmentation.write(
                labels,
                segments: testSegments,
                from: DICOMObjectOrigin(sources: sources, maker: testMaker, fingerprint: testFingerprint),
                to: path ?? source.folder("fault.dcm").path,
                scope: .serial()
            )
            return nil
        } catch let error as DICOMWriteError {
            #expect(!error.description.contains("Nobody"))
            return error
        }
    }

    @Test("sources that do not fit are refused, without a word of the patient")
    func refused() throws {
        let source = try SourceSeries(0)
        #expect(try fault(source, Array(source.sources.dropLast()))?.code == .gridDiffers)
        #expect(try fault(source, source.sources.reversed())?.code == .gridDiffers)
        #expect(
            try fault(source, source.sources.dropLast() + [DICOMSlice.Name(path: "/nowhere.dcm")])?.code
                == .sourceNotReadable
        )
        let other = try SourceSeries(0) { $0.text(0x0020_000D, "UI", "1.2.4") }
        #expect(try fault(source, source.sources.dropLast() + [other.sources[4]])?.code == .sourcesDiffer)
        let nameless = try SourceSeries(0) { $0.remove(0x0008_0018) }
        #expect(try fault(nameless, nameless.sources)?.code == .missingElement)
        let unwritten = try fault(source, source.sources, path: "/nowhere/out.dcm")
        #expect(unwritten?.code == .notWritten)
        #expect(unwritten?.systemCode == ENOENT)
    }

    @Test("a raised flag stops")
    func cancelled() throws {
        let source = try SourceSeries(0)
        let flag = CancellationFlag()
        flag.cancel()
        let labels = try source.labels()
        #expect(throws: CancelledError.self) {
            try DICOMSegmentation.write(
                labels,
                segments: testSegments,
                from: DICOMObjectOrigin(sources: source.sources, maker: testMaker, fingerprint: testFingerprint),
                to: source.folder("x.dcm").path,
                scope: .serial(flag)
            )
        }
    }

    @Test("colours come back from CIELab exactly")
    func colors() {
        for red in stride(from: 0, through: 255, by: 5) {
            for green in stride(from: 0, through: 255, by: 3) {
                for blue in stride(from: 0, through: 255, by: 17) {
                    let color = LabelColor(red: UInt8(red), green: UInt8(green), blue: UInt8(blue))
                    #expect(LabelColor(cieLab: color.cieLab) == color)
                }
            }
        }
        #expect(LabelColor(red: 255, green: 255, blue: 255).cieLab == SIMD3(65535, 32896, 32896))
        #expect(LabelColor(red: 0, green: 0, blue: 0).cieLab == SIMD3(0, 32896, 32896))
    }
}
