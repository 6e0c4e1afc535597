import Foundation
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Label maps as PNG")
struct LabelPNGTests {
    private func map(_ width: Int, _ height: Int, upTo most: UInt16) -> [UInt16] {
        var random = SplitMix64(seed: 11)
        return (0..<width * height).map { _ in UInt16.random(in: 0...most, using: &random) }
    }

    @Test("Labels read back, also by the reader of photos", arguments: [(1, 1), (31, 17), (7, 200)], [8, 16])
    func roundTrip(_ size: (width: Int, height: Int), _ bits: Int) throws {
        try TemporaryFolder.with { folder in
            let path = folder("labels.png").path
            let labels = map(size.width, size.height, upTo: bits == 8 ? 255 : 65535)
            try LabelPNG.write(
                FrozenVoxels(labels),
                width: size.width,
                height: size.height,
                bits: bits,
                to: path
            )
            let read = try LabelPNG.read(path, pixels: size.width * size.height)
            #expect(read.width == size.width && read.height == size.height && read.bits == bits)
            #expect(read.labels == labels)
            let photo = try PhotoReader.read(at: path)
            #expect(photo.facts.bitDepth == bits && photo.facts.colourModel == .grey)
            // Of 16 bits, the reader of photos keeps the upper eight.
            let shown = labels.map { UInt8($0 >> UInt16(bits - 8)) }
            #expect((0..<labels.count).map { photo.image.samples[3 * $0] } == shown)
            let first = try FileSystem.read(path)
            try LabelPNG.write(FrozenVoxels(labels), width: size.width, height: size.height, bits: bits, to: path)
            #expect(try FileSystem.read(path) == first)
        }
    }

    @Test("The bits that labels need")
    func bits() {
        #expect(LabelPNG.bits(for: 0) == 8 && LabelPNG.bits(for: 255) == 8)
        #expect(LabelPNG.bits(for: 256) == 16 && LabelPNG.bits(for: 65535) == 16)
    }

    @Test("Every damaged byte is noticed, and every end")
    func damage() throws {
        try TemporaryFolder.with { folder in
            let path = folder("labels.png").path
            try LabelPNG.write(FrozenVoxels(map(9, 6, upTo: 3)), width: 9, height: 6, bits: 8, to: path)
            let whole = try FileSystem.read(path)
            for place in whole.indices {
                var damaged = whole
                damaged[place] ^= 0x10
                try FileSystem.write(path, damaged)
                #expect(throws: PictureError.self, "\(place)") { try LabelPNG.read(path, pixels: 54) }
                try FileSystem.write(path, Array(whole[..<place]))
                #expect(throws: PictureError.self, "\(place)") { try LabelPNG.read(path, pixels: 54) }
            }
            try FileSystem.write(path, whole)
            #expect(throws: PictureError.self) { try LabelPNG.read(path, pixels: 53) }
            let missing = #expect(throws: PictureError.self) { try LabelPNG.read(path + "x", pixels: 54) }
            #expect(missing?.path == path + "x" && missing?.systemCode == ENOENT, "\(missing as Any)")
        }
    }

    @Test("A map that cannot be written: no such folder, no pixels")
    func cannotWrite() throws {
        let one = try FrozenVoxels<UInt16>([1])
        #expect(throws: PictureError.self) {
            try LabelPNG.write(one, width: 1, height: 1, bits: 8, to: "/nowhere/labels.png")
        }
        #expect(throws: PictureError.self) {
            try LabelPNG.write(one, width: 0, height: 1, bits: 8, to: "/nowhere/labels.png")
        }
    }
}
