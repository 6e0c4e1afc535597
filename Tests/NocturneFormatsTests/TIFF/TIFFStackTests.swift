import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("TIFFs whose pages are slices")
struct TIFFStackTests {
    private static func path(_ name: String) -> String { Fixtures.url("TIFF/\(name).tif").path }

    private static func code(_ body: () throws -> Void) -> TIFFStackErrorCode? {
        do {
            try body()
            return nil
        } catch {
            return (error as? TIFFStackError)?.code
        }
    }

    @Test(
        "Every type, byte order, compression and layout gives the stored numbers",
        arguments: [
            ("uint8", "uint8", false), ("int8", "int8", false), ("uint16-big-endian", "uint16", false),
            ("int16-deflate", "int16", true), ("uint32-bigtiff", "uint32", false), ("int32-tiled", "int32", true),
            ("uint64", "uint64", false), ("float32-tiled-deflate", "float32", true),
            ("float64-big-endian", "float64", false), ("imagej", "uint16", false), ("uint16-lzw", "uint16", true),
        ]
    )
    func read(_ name: String, _ type: String, isLarge: Bool) throws {
        let shape = isLarge ? VolumeShape(x: 43, y: 37, z: 3) : VolumeShape(x: 9, y: 5, z: 2)
        let header = try TIFFStackReader.readHeader(at: Self.path(name))
        #expect(header.shape == shape && "\(header.type)" == type)
        let volume = try TIFFStackReader.readVolume(at: Self.path(name), scope: .serial())
        let offset: Float = type.hasPrefix("int") ? 100 : type.hasPrefix("float") ? 0.5 : 0
        var different = 0
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                for i in 0..<shape.x
                where volume.voxels[shape.offset(i, j, k)] != Float(i + 10 * j + 100 * k) - offset { different += 1 }
            }
        }
        #expect(different == 0 && volume.nonFiniteCount == 0)
    }

    @Test(
        "What is not one volume, or of another type, is refused by its fact",
        arguments: [
            (
                "refused-colour", TIFFStackErrorCode.unsupported,
                "3 channels in one file; write each channel to a separate file"
            ),
            ("refused-one-page", .notThreeDimensional, "a single page is not a volume"),
            ("refused-four-axes", .notThreeDimensional, "pages along 2 axes (2×2)"),
            ("refused-channels-imagej", .notThreeDimensional, "pages along 2 axes (2×2)"),
            ("refused-frames-ome", .notThreeDimensional, "pages along 2 axes (2×2)"),
            ("refused-float16", .unsupported, "samples of 16 bits (floating point)"),
            ("refused-bits", .unsupported, "samples of 1 bits (integer)"),
            ("refused-depth", .unsupported, "2 slices in one page"),
            ("refused-truncated-chain", .notThreeDimensional, "states 2 slices, it has 1 pages"),
            ("refused-sizes", .unsupported, "page 2 of 2: 40 x 37 samples"),
        ]
    )
    func refused(_ name: String, _ code: TIFFStackErrorCode, _ fact: String) throws {
        let path = Self.path(name)
        #expect {
            _ = try TIFFStackReader.readVolume(at: path, scope: .serial())
        } throws: {
            guard let error = $0 as? TIFFStackError else { return false }
            return error.code == code && error.detail.contains(fact) && error.path == path
        }
    }

    @Test("Other content, folders, pipes and missing files are refused")
    func others() throws {
        try TemporaryFolder.with { folder in
            let text = try folder.write("not a TIFF", to: "text.tif").path
            let empty = try folder.write([], to: "empty.tif").path
            #expect(Self.code { _ = try TIFFStackReader.readHeader(at: text) } == .notTIFF)
            #expect(Self.code { _ = try TIFFStackReader.readHeader(at: empty) } == .notTIFF)
            #expect(Self.code { _ = try TIFFStackReader.readHeader(at: folder.path) } == .unreadable)
            #expect(Self.code { _ = try TIFFStackReader.readHeader(at: folder("none.tif").path) } == .unreadable)
            mkfifo(folder("pipe.tif").path, 0o600)
            #expect(Self.code { _ = try TIFFStackReader.readHeader(at: folder("pipe.tif").path) } == .unreadable)
        }
    }

    @Test(
        "A file cut short anywhere is refused, or has lost nothing but a mark at its end",
        arguments: ["uint8", "int16-deflate", "uint16-lzw", "uint32-bigtiff"]
    )
    func truncated(_ name: String) throws {
        let whole = try FileSystem.read(Self.path(name))
        let expected = try TIFFStackReader.readVolume(at: Self.path(name), scope: .serial())
        try TemporaryFolder.with { folder in
            var refused = 0
            let lengths = Array(stride(from: 0, to: whole.count, by: max(1, whole.count / 120)))
            for length in lengths {
                let path = try folder.write(Array(whole[..<length]), to: "short.tif").path
                do {
                    let volume = try TIFFStackReader.readVolume(at: path, scope: .serial())
                    let isSame = (0..<expected.voxels.count).allSatisfy { volume.voxels[$0] == expected.voxels[$0] }
                    #expect(volume.header == expected.header && isSame, "\(length) of \(whole.count) bytes")
                } catch {
                    #expect(error is TIFFStackError, "\(length) of \(whole.count) bytes: \(error)")
                    refused += 1
                }
            }
            #expect(refused >= lengths.count - 1)
        }
    }

    @Test("A page that is lost is named")
    func lostPage() throws {
        let whole = try FileSystem.read(Self.path("int16-deflate"))
        try TemporaryFolder.with { folder in
            // tifffile writes the pixels of a page after its directory; those of the last page are lost.
            let path = try folder.write(Array(whole[..<(whole.count - 200)]), to: "short.tif").path
            #expect {
                _ = try TIFFStackReader.readVolume(at: path, scope: .serial())
            } throws: {
                ($0 as? TIFFStackError).map { $0.code == .corrupt && $0.detail.contains("page 3 of 3") } ?? false
            }
        }
    }

    @Test("Headers that promise more than the file has cause no allocation")
    func hostile() throws {
        try TemporaryFolder.with { folder in
            let tags: [(UInt16, UInt32)] = [(258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, 16), (279, 4)]
            func refusal(_ entries: [(UInt16, UInt32)], next: UInt32 = 0) throws -> TIFFStackError? {
                let file = PhotoHostileTests.tiff(entries.sorted { $0.0 < $1.0 }, next: next)
                let path = try folder.write(file + [UInt8](repeating: 7, count: 64), to: "hostile.tif").path
                do {
                    _ = try TIFFStackReader.readVolume(at: path, scope: .serial())
                    return nil
                } catch { return error as? TIFFStackError }
            }
            let huge = try #require(try refusal([(256, 1 << 20), (257, 1 << 20)] + tags))
            #expect(huge.code == .corrupt && huge.detail.contains("cannot hold"))
            let wide = try #require(try refusal([(256, 1 << 30), (257, 4)] + tags))
            #expect(wide.code == .corrupt)
            let circle = try #require(try refusal([(256, 2), (257, 2)] + tags, next: 8))
            #expect(circle.code == .corrupt && circle.detail.contains("circular"))
            // A tile of 2^40 samples.
            let tiled: [(UInt16, UInt32)] = [
                (256, 4), (257, 4), (322, 1 << 20), (323, 1 << 20), (324, 8), (325, 4),
            ]
            let tile = try #require(try refusal(tiled + tags.filter { $0.0 < 273 }))
            #expect(tile.code == .corrupt && tile.detail.contains("tiles of"))
            // Compressed pages of which no bytes could be so small.
            let extents: [(UInt16, UInt32)] = [(256, 1 << 16), (257, 1 << 16)]
            let compressed: [(UInt16, UInt32)] = tags.map { tag in tag.0 == 259 ? (tag.0, 8) : tag }
            let deflated = try #require(try refusal(extents + compressed))
            #expect(deflated.code == .corrupt && deflated.detail.contains("cannot hold"))
        }
    }

    @Test("Any changed byte is read or refused")
    func changedBytes() throws {
        for name in ["uint8", "uint32-bigtiff", "imagej"] {
            let whole = try FileSystem.read(Self.path(name))
            try TemporaryFolder.with { folder in
                var random = SplitMix64(seed: 5)
                for place in whole.indices {
                    var changed = whole
                    changed[place] ^= UInt8.random(in: 1...255, using: &random)
                    let path = try folder.write(changed, to: "changed.tif").path
                    do {
                        let shape = try TIFFStackReader.readHeader(at: path).shape
                        let volume = try TIFFStackReader.readVolume(at: path, scope: .serial())
                        #expect(volume.voxels.count == shape.count)
                    } catch { #expect(error is TIFFStackError, "\(name), byte \(place): \(error)") }
                }
            }
        }
    }

    @Test("NaN and infinite numbers are counted")
    func nonFinite() throws {
        var file = try FileSystem.read(Self.path("float64-big-endian"))
        // -0.5, the first number of the first page.
        let start: [UInt8] = [0xBF, 0xE0, 0, 0, 0, 0, 0, 0]
        let place = try #require(file.indices.first { file[$0...].starts(with: start) })
        file.replaceSubrange(place..<place + 8, with: [0x7F, 0xF0, 0, 0, 0, 0, 0, 0])
        try TemporaryFolder.with { folder in
            let path = try folder.write(file, to: "infinite.tif").path
            #expect(try TIFFStackReader.readVolume(at: path, scope: .serial()).nonFiniteCount == 1)
        }
    }

    @Test("A raised flag ends reading and writing")
    func cancelled() throws {
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) {
            _ = try TIFFStackReader.readVolume(at: Self.path("uint8"), scope: .serial(flag))
        }
        try TemporaryFolder.with { folder in
            let geometry = VolumeGeometry(shape: VolumeShape(x: 2, y: 2, z: 2), affine: .identity)
            let labels = LabelVolume(geometry: geometry, voxels: try FrozenVoxels([UInt16](repeating: 1, count: 8)))
            #expect(throws: CancelledError.self) {
                try TIFFLabelWriter.write(labels, to: folder("labels.tif").path, scope: .serial(flag))
            }
        }
    }
}
