import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Label maps and spacings of TIFFs")
struct TIFFLabelWriterTests {
    private func labels(_ shape: VolumeShape, upTo most: UInt16) throws -> LabelVolume {
        var random = SplitMix64(seed: 3)
        var values = (0..<shape.count).map { _ in UInt16.random(in: 0...most, using: &random) }
        values[0] = most
        return LabelVolume(geometry: VolumeGeometry(shape: shape, affine: .identity), voxels: try FrozenVoxels(values))
    }

    @Test(
        "Labels read back, with 8 bits up to 254, and the same bytes each time",
        arguments: [UInt16(1), 254, 255, 65535],
        [false, true]
    )
    func roundTrip(_ most: UInt16, isBig: Bool) throws {
        try TemporaryFolder.with { folder in
            for shape in [VolumeShape(x: 1, y: 1, z: 2), VolumeShape(x: 31, y: 17, z: 5)] {
                let (labels, path) = (try labels(shape, upTo: most), folder("labels.tif").path)
                try TIFFLabelWriter.write(labels, to: path, isBig: isBig, scope: .serial())
                let volume = try TIFFStackReader.readVolume(at: path, scope: .serial())
                #expect(volume.header.shape == shape)
                #expect(volume.header.type == (most < 255 ? .uint8 : .uint16))
                let isSame = (0..<shape.count).allSatisfy { volume.voxels[$0] == Float(labels.voxels[$0]) }
                #expect(isSame)
                let first = try FileSystem.read(path)
                #expect(first[2] == (isBig ? 43 : 42))
                try TIFFLabelWriter.write(labels, to: path, isBig: isBig, scope: .serial())
                #expect(try FileSystem.read(path) == first)
            }
        }
    }

    @Test("A file that cannot be made is an error that names it")
    func unwritable() throws {
        let labels = try labels(VolumeShape(x: 2, y: 2, z: 2), upTo: 1)
        #expect {
            try TIFFLabelWriter.write(labels, to: "/nonexistent/labels.tif", scope: .serial())
        } throws: {
            ($0 as? TIFFStackError).map { $0.code == .cannotWrite && $0.path == "/nonexistent/labels.tif" } ?? false
        }
    }

    @Test(
        "The file with the spacing is that of the case",
        arguments: [
            ("/a/case_0000.tif", "/a/case.json"), ("/a/case_0001.tiff", "/a/case.json"), ("/a/b_c.TIF", "/a/b_c.json"),
            ("x_12345.tif", "x_12345.json"), ("/a.b/_0000.tif", "/a.b/_0000.json"),
            ("/a/case.ome.tif", "/a/case.ome.json"),
        ]
    )
    func sideFile(_ image: String, _ expected: String) { #expect(TIFFSpacing.sideFile(of: image) == expected) }

    @Test("The spacing has the order of the array: pages, rows, columns; it is written as it is read")
    func spacing() throws {
        try TemporaryFolder.with { folder in
            let path = try folder.write("{\"spacing\": [5, 0.8, 0.75], \"more\": {}}", to: "case.json").path
            let spacing = try TIFFSpacing.read(at: path)
            #expect(spacing == SIMD3(0.75, 0.8, 5))
            let copy = try folder.write(TIFFSpacing.document(spacing), to: "copy.json").path
            #expect(try TIFFSpacing.read(at: copy) == spacing)
        }
    }

    @Test(
        "Anything but three numbers above 0 is refused",
        arguments: [
            "", "[1, 1, 1]", "{}", "{\"spacing\": 1}", "{\"spacing\": [1, 1]}", "{\"spacing\": [1, 1, 1, 1]}",
            "{\"spacing\": [1, 0, 1]}", "{\"spacing\": [1, -1, 1]}", "{\"spacing\": [1, 1e300, 1]}",
            "{\"spacing\": [1, NaN, 1]}", "{\"spacing\": [\"1\", 1, 1]}", "{\"spacing\": [null, 1, 1]}",
            "{\"spacing\": [1, 1, 1]", "\u{0}", String(repeating: "[", count: 100_000),
            "{\"spacing\": [" + String(repeating: "1,", count: 400_000) + "1]}",
        ]
    )
    func refused(_ text: String) throws {
        try TemporaryFolder.with { folder in
            let path = try folder.write(text, to: "case.json").path
            #expect {
                _ = try TIFFSpacing.read(at: path)
            } throws: {
                ($0 as? TIFFStackError).map { $0.code == .invalidSpacing && $0.path == path } ?? false
            }
        }
    }

    @Test("A file that is too large, a folder and a missing file are refused")
    func unreadable() throws {
        try TemporaryFolder.with { folder in
            let large = try folder.write([UInt8](repeating: 32, count: (1 << 20) + 1), to: "large.json").path
            for path in [large, folder.path, folder("none.json").path] {
                #expect(throws: TIFFStackError.self) { _ = try TIFFSpacing.read(at: path) }
            }
        }
    }
}
