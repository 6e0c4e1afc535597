import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Values that break their representation are not copied into written objects")
struct ValueValidityTests {
    /// The bytes of a segmentation and of a structure set of these sources.
    private func written(_ change: @escaping (inout DICOMDataSet) -> Void) throws -> [Data] {
        let source = try SourceSeries(0, change: change)
        let segmentation = source.folder("out.dcm").path
        try DICOMSegmentation.write(
            source.labels(),
            segments: [testSegments[0]],
            from: DICOMObjectOrigin(sources: source.sources, maker: testMaker, fingerprint: testFingerprint),
            to: segmentation,
            scope: .serial()
        )
        let contour = SliceContour(slice: 1, points: [SIMD2(0, 0), SIMD2(3, 0), SIMD2(3, 3)])
        let structures = source.folder("rt.dcm").path
        _ = try DICOMStructureSet.write(
            [DICOMStructureSet.ContouredRegion(name: "kidney", color: testSegments[0].color, contours: [contour])],
            geometry: source.geometry,
            from: DICOMObjectOrigin(sources: source.sources, maker: testMaker, fingerprint: testFingerprint),
            to: structures,
            flag: CancellationFlag()
        )
        return try [segmentation, structures].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
    }

    /// An element as stored: explicit in segmentations, implicit in structure sets.
    private func element(_ tag: UInt32, _ vr: String, _ value: String, isExplicit: Bool) -> Data {
        Data(DICOMDataSet.element(tag, vr, Array(value.utf8), isExplicit ? .explicit : .implicit))
    }

    private func contains(_ bytes: Data, _ tag: UInt32) -> Bool {
        bytes.range(of: Data(littleEndian(UInt16(tag >> 16)) + littleEndian(UInt16(tag & 0xFFFF)))) != nil
    }

    @Test("invalid ages, weights, dates, codes and NULs are left out, valid ones stay")
    func invalid() throws {
        let objects = try written { set in
            set.text(0x0010_1010, "AS", "42")
            set.text(0x0010_1030, "DS", "71.23456789012345")
            set.text(0x0010_4000, "LT", "one\0two")
            set.text(0x0010_0030, "DA", "1990/01/02")
            set.text(0x0010_0040, "CS", "male")
            set.text(0x0008_1030, "LO", String(repeating: "study ", count: 11))
            set.text(0x0020_0010, "SH", "more than sixteen")
            set.text(0x0010_0020, "LO", "4711")
            set.text(0x0008_0050, "SH", "ACC 1")
        }
        for (bytes, isExplicit) in zip(objects, [true, false]) {
            #expect(!contains(bytes, 0x0010_1010) && !contains(bytes, 0x0010_1030) && !contains(bytes, 0x0010_4000))
            #expect(bytes.range(of: Data("1990/01".utf8)) == nil && bytes.range(of: Data("male".utf8)) == nil)
            #expect(!contains(bytes, 0x0008_1030) && bytes.range(of: Data("sixteen".utf8)) == nil)
            // Elements that must be present are so, without a value.
            #expect(bytes.range(of: element(0x0010_0030, "DA", "", isExplicit: isExplicit)) != nil)
            #expect(bytes.range(of: element(0x0010_0040, "CS", "", isExplicit: isExplicit)) != nil)
            #expect(bytes.range(of: Data("4711".utf8)) != nil && bytes.range(of: Data("ACC 1".utf8)) != nil)
        }
    }

    @Test("a text padded with a NUL is copied without it")
    func padding() throws {
        let objects = try written { set in
            set.text(0x0010_0010, "PN", "Some^One\0\0")
            set.text(0x0010_1010, "AS", "042Y")
        }
        for (bytes, isExplicit) in zip(objects, [true, false]) {
            #expect(bytes.range(of: element(0x0010_0010, "PN", "Some^One", isExplicit: isExplicit)) != nil)
            #expect(bytes.range(of: element(0x0010_1010, "AS", "042Y", isExplicit: isExplicit)) != nil)
        }
    }

    @Test("an empty character set is left out, others stay")
    func characterSet() throws {
        let empty = try written { $0.text(0x0008_0005, "CS", "") }
        #expect(!empty.contains { contains($0, 0x0008_0005) })
        for value in ["ISO_IR 192", "\\ISO 2022 IR 87"] {
            for (bytes, isExplicit) in zip(try written { $0.text(0x0008_0005, "CS", value) }, [true, false]) {
                #expect(bytes.range(of: element(0x0008_0005, "CS", value, isExplicit: isExplicit)) != nil)
            }
        }
    }

    @Test("positions and directions of more than sixteen characters are written again")
    func decimals() throws {
        let objects = try written { set in
            let position = String(decoding: set.elements[0x0020_0032]?.value ?? [], as: UTF8.self)
            let parts = position.split(separator: "\\")
            set.text(0x0020_0032, "DS", "\(parts[0])00000000\\\(parts[1])\\\(parts[2])")
            set.text(0x0020_0037, "DS", "1.000000000000000000\\0\\0\\0\\1\\0")
        }
        #expect(objects[0].range(of: Data("0000000000".utf8)) == nil)
        #expect(objects[0].range(of: element(0x0020_0037, "DS", "1\\0\\0\\0\\1\\0", isExplicit: true)) != nil)
    }
}
