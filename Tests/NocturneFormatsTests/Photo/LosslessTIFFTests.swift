import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("TIFFs of lossless JPEG")
struct LosslessTIFFTests {
    /// All values of 8 bits occur, and steps of both signs.
    private static func sample(_ x: Int, _ y: Int, _ component: Int, bits: Int) -> Int {
        (x * 2741 + y * 997 + component * 331 + x * y * 13) & ((1 << bits) - 1)
    }

    private static let files = [
        LosslessTIFF(width: 37, height: 29), LosslessTIFF(width: 37, height: 29, rowsPerStrip: 8),
        LosslessTIFF(width: 37, height: 29, rowsPerStrip: 8, sharesTables: true),
        LosslessTIFF(width: 37, height: 29, tile: 16),
        LosslessTIFF(width: 37, height: 29, bits: 12, rowsPerStrip: 10), LosslessTIFF(width: 37, height: 29, bits: 16),
        LosslessTIFF(width: 37, height: 29, components: 3),
        LosslessTIFF(width: 37, height: 29, components: 3, bits: 16),
        LosslessTIFF(width: 37, height: 29, components: 3, tile: 16, sharesTables: true),
    ]

    @Test("Photos have the stored samples, of which the highest eight bits are used", arguments: files.indices)
    func photos(index: Int) throws {
        let file = Self.files[index]
        try TemporaryFolder.with { folder in
            let bytes = file.bytes { Self.sample($0, $1, $2, bits: file.bits) }
            let image = try PhotoReader.read(at: folder.write(bytes, to: "photo.tif").path).image
            #expect(image.width == 37 && image.height == 29)
            var different = 0
            for y in 0..<29 {
                for x in 0..<37 {
                    let expected = (0..<3).map { component in
                        let own = file.components == 3 ? component : 0
                        return UInt8(Self.sample(x, y, own, bits: file.bits) >> (file.bits - 8))
                    }
                    if image[x, y] != SIMD3(expected[0], expected[1], expected[2]) { different += 1 }
                }
            }
            #expect(different == 0)
        }
    }

    @Test("A damaged stream, and one that states other pixels, is damaged; another depth is not supported")
    func damage() throws {
        let whole = LosslessTIFF(width: 64, height: 64).bytes { Self.sample($0, $1, $2, bits: 8) }
        let frame = try #require(whole.indices.dropLast(9).first { whole[$0] == 0xFF && whole[$0 + 1] == 0xC3 })
        func code(_ change: (inout [UInt8]) -> Void) throws -> PhotoErrorCode? {
            try TemporaryFolder.with { folder in
                var bytes = whole
                change(&bytes)
                let path = try folder.write(bytes, to: "photo.tif").path
                return PhotoHostileTests.code { _ = try PhotoReader.read(at: path) }
            }
        }
        #expect(try code { _ in } == nil)
        #expect(try code { $0.removeLast($0.count / 3) } == .corrupt)
        // Rows, columns.
        #expect(try code { $0[frame + 6] = 32 } == .corrupt)
        #expect(try code { $0[frame + 8] = 63 } == .corrupt)
        #expect(try code { $0[frame + 4] = 12 } == .unsupported)
    }

    @Test("Pages of a volume have the stored numbers", arguments: [(8, nil, nil), (16, 7, nil), (16, nil, 16)])
    func pages(bits: Int, rowsPerStrip: Int?, tile: Int?) throws {
        let file = LosslessTIFF(width: 37, height: 29, bits: bits, rowsPerStrip: rowsPerStrip, tile: tile)
        try TemporaryFolder.with { folder in
            // The second page is the first one once more.
            var bytes = file.bytes { Self.sample($0, $1, $2, bits: bits) }
            let entries = Int(bytes[8])
            let (second, place) = (bytes.count + bytes.count % 2, 8 + 2 + entries * 12)
            let directory = Array(bytes[8..<place])
            bytes += [UInt8](repeating: 0, count: bytes.count % 2) + directory + [0, 0, 0, 0]
            for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: second >> (8 * index)) }
            let path = try folder.write(bytes, to: "pages.tif").path
            let volume = try TIFFStackReader.readVolume(at: path, scope: .serial())
            let shape = VolumeShape(x: 37, y: 29, z: 2)
            #expect(volume.voxels.count == shape.count)
            var different = 0
            for index in 0..<shape.count {
                let (x, y) = (index % 37, index / 37 % 29)
                if volume.voxels[index] != Float(Self.sample(x, y, 0, bits: bits)) { different += 1 }
            }
            #expect(different == 0)
        }
    }
}
