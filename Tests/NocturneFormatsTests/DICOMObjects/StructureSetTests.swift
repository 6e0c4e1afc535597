import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Structure sets are written and read again")
struct StructureSetTests {
    @Test("contours, names and colours come back", arguments: SourceSeries.directions.indices)
    func roundTrip(direction: Int) throws {
        let source = try SourceSeries(direction)
        let points = [SIMD2(-0.5, -0.5), SIMD2(3.5, -0.5), SIMD2(3.5, 4.25), SIMD2(1.125, 2)]
        let regions = [
            DICOMStructureSet.ContouredRegion(
                name: "kidney",
                color: testSegments[0].color,
                code: testSegments[0].type,
                contours: [.init(slice: 3, points: points), .init(slice: 0, points: points.reversed())]
            ),
            DICOMStructureSet.ContouredRegion(name: "absent", color: testSegments[1].color, contours: []),
            // More than 64 KiB of text.
            DICOMStructureSet.ContouredRegion(
                name: "long",
                color: testSegments[2].color,
                contours: [.init(slice: 2, points: (0..<9000).map { SIMD2(Double($0 % 90) / 7, Double($0) / 900) })]
            ),
        ]
        let path = source.folder("rt.dcm").path
        func write() throws -> Data {
            let written = try DICOMStructureSet.write(
                regions,
                geometry: source.geometry,
                from: DICOMObjectOrigin(sources: source.sources, maker: testMaker, fingerprint: testFingerprint),
                to: path,
                flag: CancellationFlag()
            )
            #expect(written)
            return try Data(contentsOf: URL(fileURLWithPath: path))
        }
        #expect(try write() == write())
        let back = try DICOMStructureSet.read(path: path)
        #expect(back.regions.map(\.name) == ["kidney", "long"])
        #expect(back.regions.map(\.color) == [testSegments[0].color, testSegments[2].color])
        #expect(back.regions[0].code == testSegments[0].type)
        #expect(back.regions[1].code == nil)
        #expect(back.notes.isEmpty)
        #expect(back.referencedSeriesUID == "1.2.3.4")
        #expect(back.frameOfReferenceUID == "1.2.99")
        #expect(back.listedImages.count == 5)
        for (region, read) in zip([regions[0], regions[2]], back.regions) {
            for (contour, found) in zip(region.contours, read.contours) {
                let wanted = contour.points.map { source.geometry.affine(SIMD3($0.x, $0.y, Double(contour.slice))) }
                #expect(found.points.count == wanted.count)
                #expect(zip(found.points, wanted).allSatisfy { length($0 - $1) < 1.5e-4 })
                let header = try DICOMObject.readHeader(path: source.sources[contour.slice].path)
                #expect(found.image == DICOMImageReference(instanceUID: header.sopInstanceUID))
            }
        }
    }

    @Test("points and open contours are noted and left out; broken coordinates too")
    func omitted() throws {
        let contours = [
            ("CLOSED_PLANAR", "0\\0\\5\\1\\0\\5\\1\\1\\5\\0\\0\\5"), ("POINT", "0\\0\\0"),
            ("OPEN_PLANAR", "0\\0\\0\\1\\1\\0\\2\\0\\0"),
            ("OPEN_PLANAR", "0\\0\\0\\1\\1\\0"), ("CLOSED_PLANAR", "0\\0\\0\\1\\1\\0"),
            ("CLOSED_PLANAR", "0\\0\\0\\1\\1\\0\\7"),
            ("CLOSEDPLANAR_XOR", "+1 \\-2.5e0\\3 \\ 4\\5\\6\\7\\8.25\\9"), ("CLOSED_PLANAR", ""),
        ]
        let bytes = structureSet(contours)
        try TemporaryFolder.with { folder in
            let path = try folder.write(bytes, to: "rt.dcm").path
            let read = try DICOMStructureSet.read(path: path)
            // Only the region names it.
            #expect(read.frameOfReferenceUID == "1.2.88")
            let region = try #require(read.regions.first)
            #expect(region.contours.count == 2)
            #expect(region.contours[0].points == [SIMD3(0, 0, 5), SIMD3(-1, 0, 5), SIMD3(-1, -1, 5)])
            #expect(region.contours[1].points == [SIMD3(-1, 2.5, 3), SIMD3(-4, -5, 6), SIMD3(-7, -8.25, 9)])
            #expect(
                read.notes.texts == [
                    "ring: 1 contour omitted, of type POINT", "ring: 2 contours omitted, of type OPEN_PLANAR",
                    "ring: 2 contours omitted, of fewer than three points",
                    "ring: 1 contour omitted, with incomplete coordinates",
                ]
            )
        }
    }

    @Test("regions in another frame of reference than the images are left out, unless all are")
    func frames() throws {
        let read = try TemporaryFolder.with { folder in
            let bytes = structureSet([("CLOSED_PLANAR", "0\\0\\5\\1\\0\\5\\1\\1\\5")])
            return try DICOMStructureSet.read(path: try folder.write(bytes, to: "rt.dcm").path)
        }
        func region(_ name: String, _ frame: String) -> DICOMStructureSet.Region {
            var region = read.regions[0]
            (region.name, region.frameOfReferenceUID) = (name, frame)
            return region
        }
        var note: Note?
        func kept(_ uid: String) -> DICOMStructureSet {
            var set = read
            set.frameOfReferenceUID = "1.1"
            set.regions = [region("ct", "1.1"), region("mr", "1.2"), region("any", "")]
            note = set.keepRegions(inFrameOfReference: uid)
            return set
        }
        #expect(kept("1.2").regions.map(\.contours.count) == [0, 1, 1])
        #expect(
            kept("1.2").notes.texts == [
                "ct: left out, its contours are in another frame of reference than the images"
            ]
        )
        // Without images, the frame of the set.
        #expect(kept("").regions.map(\.contours.count) == [1, 0, 1])
        #expect(note == nil)
        #expect(kept("1.9").regions.map(\.contours.count) == [1, 1, 1])
        #expect(note?.code == "structureSet.otherFrames")
    }

    @Test("limits, words instead of numbers, and other objects are errors")
    func hostile() throws {
        try TemporaryFolder.with { folder in
            let closed = ("CLOSED_PLANAR", "0\\0\\5\\1\\0\\5\\1\\1\\5")
            let good = try folder.write(structureSet([closed, closed]), to: "good.dcm").path
            #expect(throws: Never.self) { try DICOMStructureSet.read(path: good) }
            for limits in [
                DICOMObjectLimits(segments: 0), DICOMObjectLimits(contours: 1), DICOMObjectLimits(points: 5),
            ] {
                let error = #expect(throws: DICOMReadError.self) {
                    try DICOMStructureSet.read(path: good, limits: limits)
                }
                #expect(error?.code == .overLimit)
            }
            for words in [
                "0\\0\\x\\1\\0\\5\\1\\1\\5", "0\\0\\nan\\1\\0\\5\\1\\1\\5", "1e999\\0\\0\\1\\0\\5\\1\\1\\5",
                "0 0\\0\\0",
            ] {
                let path = try folder.write(structureSet([("CLOSED_PLANAR", words)]), to: "bad.dcm").path
                #expect(throws: DICOMReadError.self) { try DICOMStructureSet.read(path: path) }
            }
            let image = try folder.write(TestSlice().file(), to: "image.dcm").path
            let error = #expect(throws: DICOMReadError.self) { try DICOMStructureSet.read(path: image) }
            #expect(error?.code == .otherObject)
            // Whatever a byte is changed to, there is an answer.
            let bytes = structureSet([closed])
            var random = SplitMix64(seed: 9)
            for _ in 0..<300 {
                var broken = bytes
                for _ in 0..<3 {
                    broken[132 + Int(random.next() % UInt64(bytes.count - 132))] = UInt8(random.next() & 255)
                }
                let path = try folder.write(
                    Array(broken.prefix(Int(random.next() % 4) == 0 ? bytes.count / 2 : bytes.count)),
                    to: "fuzz.dcm"
                ).path
                _ = try? DICOMStructureSet.read(path: path)
            }
        }
    }
}

/// One region with these contours: types and coordinates.
private func structureSet(_ contours: [(type: String, data: String)]) -> [UInt8] {
    var set = DICOMDataSet()
    set.text(0x0008_0016, "UI", "1.2.840.10008.5.1.4.1.1.481.3")
    set.text(0x0008_0018, "UI", "1.2.3.9")
    set.text(0x0008_0060, "CS", "RTSTRUCT")
    set.text(0x3006_0002, "SH", "SET")
    var roi = DICOMDataSet()
    roi.text(0x3006_0022, "IS", "7")
    roi.text(0x3006_0024, "UI", "1.2.88")
    roi.text(0x3006_0026, "LO", "ring")
    set.items(0x3006_0020, [roi])
    var outline = DICOMDataSet()
    outline.text(0x3006_0084, "IS", "7")
    outline.items(
        0x3006_0040,
        contours.map { contour in
            var item = DICOMDataSet()
            item.text(0x3006_0042, "CS", contour.type)
            item.text(0x3006_0050, "DS", contour.data)
            return item
        }
    )
    set.items(0x3006_0039, [outline])
    return DICOMDataSet.preamble("1.2.840.10008.1.2") + set.encoded(.implicit)
}

extension DICOMDataSet {
    /// A sequence, its items with implicit representations unless said otherwise.
    mutating func items(_ tag: UInt32, _ items: [DICOMDataSet], _ encoding: Encoding = .implicit) {
        bytes(
            tag,
            "SQ",
            items.flatMap { item -> [UInt8] in
                let encoded = item.encoded(encoding)
                return [0xFE, 0xFF, 0x00, 0xE0] + littleEndian(UInt32(encoded.count)) + encoded
            }
        )
    }
}
