import Foundation
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("PNG files")
struct PNGWriterTests {
    struct Chunk {
        let type: String
        let content: [UInt8]
        let checksum: UInt32
    }

    static let picture: RGBImage = {
        var image = RGBImage(width: 37, height: 11)
        var generator = SplitMix64(seed: 5)
        for y in 0..<11 {
            for x in 0..<37 {
                let value = generator.next()
                image[x, y] = SIMD3(UInt8(x * 3), UInt8(truncatingIfNeeded: value), UInt8(y))
            }
        }
        return image
    }()

    static func word(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }

    static func chunks(_ file: [UInt8]) -> [Chunk] {
        var found: [Chunk] = []
        var place = 8
        while place + 12 <= file.count {
            let count = Int(word(file[place...]))
            guard place + 12 + count <= file.count else { break }
            found.append(
                Chunk(
                    type: String(decoding: file[place + 4..<place + 8], as: UTF8.self),
                    content: Array(file[place + 8..<place + 8 + count]),
                    checksum: word(file[(place + 8 + count)...])
                )
            )
            place += 12 + count
        }
        return found
    }

    /// The checksum of ISO/IEC 15948, bit by bit.
    static func slowChecksum(_ bytes: [UInt8]) -> UInt32 {
        var sum = UInt32.max
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }

    /// What zlib's stream holds: through the module's own gzip reader, in a gzip wrapping made by hand.
    static func rows(_ chunk: Chunk, count: Int) throws -> [UInt8] {
        // The bare deflate stream lies between zlib's two bytes in front and the checksum of four behind.
        let deflated = chunk.content.dropFirst(2).dropLast(4)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/gzip")
        process.arguments = ["-dc"]
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data([31, 139, 8, 0, 0, 0, 0, 0, 0, 3] + deflated))
        try input.fileHandleForWriting.close()
        // Without the trailer gzip complains at the end, after it gave everything.
        let rows = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        return Array(rows.prefix(count + 1))
    }

    @Test("A picture has a header, one run of data and an end, with checksums that hold, and comes back")
    func roundTrip() throws {
        try TemporaryFolder.with { folder in
            let path = folder("a.png").path
            try PNGWriter.write(Self.picture, to: path)
            let file = [UInt8](try Data(contentsOf: folder("a.png")))
            #expect(Array(file.prefix(8)) == [137, 80, 78, 71, 13, 10, 26, 10])
            let chunks = Self.chunks(file)
            try #require(chunks.map(\.type) == ["IHDR", "IDAT", "IEND"])
            #expect(file.count == 8 + chunks.reduce(0) { $0 + 12 + $1.content.count })
            for chunk in chunks { #expect(chunk.checksum == Self.slowChecksum(Array(chunk.type.utf8) + chunk.content)) }
            #expect(chunks[0].content == [0, 0, 0, 37, 0, 0, 0, 11, 8, 2, 0, 0, 0])
            let rows = try Self.rows(chunks[1], count: (37 * 3 + 1) * 11)
            try #require(rows.count == (37 * 3 + 1) * 11)
            var samples: [UInt8] = []
            for row in stride(from: 0, to: rows.count, by: 37 * 3 + 1) {
                #expect(rows[row] == 1)
                for place in 0..<37 * 3 {
                    samples.append(rows[row + 1 + place] &+ (place < 3 ? 0 : samples[samples.count - 3]))
                }
            }
            #expect(samples == Self.picture.samples)
        }
    }

    @Test("The same picture has the same bytes, and replaces a longer file")
    func sameBytes() throws {
        try TemporaryFolder.with { folder in
            try folder.write([UInt8](repeating: 7, count: 1 << 16), to: "b.png")
            try PNGWriter.write(Self.picture, to: folder("a.png").path)
            try PNGWriter.write(Self.picture, to: folder("b.png").path)
            #expect(try Data(contentsOf: folder("a.png")) == Data(contentsOf: folder("b.png")))
        }
    }

    @Test("What cannot be written is an error that names the file")
    func faults() throws {
        func fault(_ image: RGBImage, _ path: String) -> PictureError? {
            do { try PNGWriter.write(image, to: path) } catch { return error }
            return nil
        }
        try TemporaryFolder.with { folder in
            let path = folder("none.png").path
            #expect(fault(RGBImage(width: 0, height: 3), path)?.code == .invalidImage)
            var torn = Self.picture
            torn.samples.removeLast()
            #expect(fault(torn, path)?.code == .invalidImage)
            #expect(!FileManager.default.fileExists(atPath: path))
            let nowhere = fault(Self.picture, folder("no/a.png").path)
            #expect(nowhere?.code == .cannotWrite && nowhere?.systemCode == ENOENT)
        }
        guard FileManager.default.fileExists(atPath: "/dev/full") else {
            print("skipped: this system has no /dev/full")
            return
        }
        #expect(
            fault(Self.picture, "/dev/full")?.description
                == "/dev/full: cannot be written: No space left on device (errno 28)"
        )
    }
}
