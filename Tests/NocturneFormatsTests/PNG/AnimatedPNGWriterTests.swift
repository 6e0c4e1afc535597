import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Animated PNG files")
struct AnimatedPNGWriterTests {
    static let palette = (0..<200).map { (value: Int) -> SIMD3<UInt8> in
        SIMD3(UInt8(value), UInt8(255 - value), UInt8(value / 2))
    }
    static let writer = AnimatedPNGWriter(
        width: 61,
        height: 23,
        palette: palette,
        frameCount: 19,
        millisecondsPerFrame: 80
    )

    @Sendable static func frame(_ index: Int) -> [UInt8] {
        var generator = SplitMix64(seed: UInt64(index + 1))
        return (0..<61 * 23).map { $0 % 7 == 0 ? UInt8(generator.next() % 200) : UInt8(($0 / 61 + index) % 200) }
    }

    /// The checksum of zlib's streams, number by number.
    static func adler(_ bytes: [UInt8]) -> UInt32 {
        var (a, b): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            a = (a + UInt32(byte)) % 65521
            b = (b + a) % 65521
        }
        return b << 16 | a
    }

    /// The pixels of a zlib stream of unfiltered rows.
    static func pixels(_ stream: [UInt8]) throws -> [UInt8] {
        let rows = try PNGWriterTests.rows(.init(type: "IDAT", content: stream, checksum: 0), count: 62 * 23)
        try #require(rows.count == 62 * 23)
        #expect(adler(rows) == PNGWriterTests.word(stream.suffix(4)))
        #expect((Int(stream[0]) << 8 + Int(stream[1])) % 31 == 0 && stream[0] == 0x78)
        return (0..<23).flatMap { y -> [UInt8] in
            #expect(rows[y * 62] == 0)
            return Array(rows[y * 62 + 1..<(y + 1) * 62])
        }
    }

    @Test("Every frame comes back from a decoder of its own, in order, after a cover that is not part of the animation")
    func roundTrip() throws {
        try TemporaryFolder.with { folder in
            try Self.writer.write(
                to: folder("a.png").path,
                cover: Self.frame(9),
                scope: .serial(),
                frame: Self.frame
            )
            let file = [UInt8](try Data(contentsOf: folder("a.png")))
            let chunks = PNGWriterTests.chunks(file)
            #expect(file.count == 8 + chunks.reduce(0) { $0 + 12 + $1.content.count })
            let frames = (0..<19).flatMap { _ in ["fcTL", "fdAT"] }
            try #require(chunks.map(\.type) == ["IHDR", "acTL", "PLTE", "IDAT"] + frames + ["IEND"])
            for chunk in chunks {
                #expect(chunk.checksum == PNGWriterTests.slowChecksum(Array(chunk.type.utf8) + chunk.content))
            }
            #expect(chunks[0].content == [0, 0, 0, 61, 0, 0, 0, 23, 8, 3, 0, 0, 0])
            #expect(chunks[1].content == [0, 0, 0, 19, 0, 0, 0, 0])
            #expect(chunks[2].content == Self.palette.flatMap { [$0.x, $0.y, $0.z] })
            #expect(try Self.pixels(chunks[3].content) == Self.frame(9))
            for index in 0..<19 {
                let control = chunks[4 + 2 * index].content
                let data = chunks[5 + 2 * index].content
                #expect(PNGWriterTests.word(control[...]) == UInt32(2 * index))
                #expect(
                    Array(control.dropFirst(4))
                        == [0, 0, 0, 61, 0, 0, 0, 23, 0, 0, 0, 0, 0, 0, 0, 0, 0, 80, 3, 232, 0, 0]
                )
                #expect(PNGWriterTests.word(data[...]) == UInt32(2 * index + 1))
                #expect(try Self.pixels(Array(data.dropFirst(4))) == Self.frame(index))
            }
        }
    }

    @Test("Frames of red, green and blue come back from a decoder of its own")
    func trueColor() throws {
        try TemporaryFolder.with { folder in
            let writer = AnimatedPNGWriter(width: 20, height: 9, palette: nil, frameCount: 3, millisecondsPerFrame: 80)
            @Sendable func frame(_ index: Int) -> [UInt8] {
                var generator = SplitMix64(seed: UInt64(index + 5))
                return (0..<20 * 9 * 3).map { UInt8(truncatingIfNeeded: $0 / 7) &+ UInt8(generator.next() % 9) }
            }
            try writer.write(to: folder("a.png").path, cover: frame(1), scope: .serial(), frame: frame)
            let chunks = PNGWriterTests.chunks([UInt8](try Data(contentsOf: folder("a.png"))))
            let frames = (0..<3).flatMap { _ in ["fcTL", "fdAT"] }
            try #require(chunks.map(\.type) == ["IHDR", "acTL", "IDAT"] + frames + ["IEND"])
            #expect(chunks[0].content == [0, 0, 0, 20, 0, 0, 0, 9, 8, 2, 0, 0, 0])
            for (chunk, index) in [(2, 1), (4, 0), (6, 1), (8, 2)] {
                let stream = Array(chunks[chunk].content.dropFirst(chunk == 2 ? 0 : 4))
                let rows = try PNGWriterTests.rows(.init(type: "IDAT", content: stream, checksum: 0), count: 61 * 9)
                var pixels: [UInt8] = []
                for y in 0..<9 {
                    try #require(rows[y * 61] == 2)
                    for x in 0..<60 { pixels.append(rows[y * 61 + 1 + x] &+ (y > 0 ? pixels[(y - 1) * 60 + x] : 0)) }
                }
                #expect(pixels == frame(index))
            }
        }
    }

    @Test("The same bytes for any number of threads")
    func threads() async throws {
        let files = try await resultsForWidths { scope in
            try TemporaryFolder.with { folder in
                try Self.writer.write(to: folder("a.png").path, cover: Self.frame(0), scope: scope, frame: Self.frame)
                return try Data(contentsOf: folder("a.png"))
            }
        }
        #expect(Set(files).count == 1)
    }

    @Test("What cannot be written is an error that names the file; a raised flag stops it")
    func faults() throws {
        func fault(_ writer: AnimatedPNGWriter, _ path: String, count: Int = 61 * 23) -> PictureError? {
            do {
                let cover = [UInt8](repeating: 0, count: 61 * 23)
                try writer.write(to: path, cover: cover, scope: .serial()) { _ in [UInt8](repeating: 0, count: count) }
            } catch { return error as? PictureError }
            return nil
        }
        try TemporaryFolder.with { folder in
            let path = folder("none.png").path
            for (height, colors, frames) in [(0, 200, 3), (23, 0, 3), (23, 257, 3), (23, 200, 0), (24, 200, 3)] {
                let writer = AnimatedPNGWriter(
                    width: 61,
                    height: height,
                    palette: [SIMD3<UInt8>](repeating: .zero, count: colors),
                    frameCount: frames,
                    millisecondsPerFrame: 80
                )
                #expect(fault(writer, path)?.code == .invalidImage)
            }
            #expect(!FileManager.default.fileExists(atPath: path))
            #expect(fault(Self.writer, path, count: 5)?.code == .invalidImage)
            #expect(fault(Self.writer, folder("no/a.png").path)?.systemCode == ENOENT)
            let flag = CancellationFlag()
            #expect(throws: CancelledError.self) {
                try Self.writer.write(to: path, cover: Self.frame(0), scope: .serial(flag)) { index in
                    if index == 8 { flag.cancel() }
                    return Self.frame(index)
                }
            }
        }
    }
}
