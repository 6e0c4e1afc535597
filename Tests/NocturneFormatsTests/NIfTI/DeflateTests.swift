import CNocturneDeflate
import CZlib
import NocturneTestSupport
import Testing

/// The house's own compressor, read back by zlib.
@Suite("Deflate for voxels")
struct DeflateTests {
    private func compressed(_ content: [UInt8], width: Int32, row: Int, isLast: Bool = true) -> [UInt8] {
        let deflater = nocturne_deflater_new()
        defer { nocturne_deflater_free(deflater) }
        return [UInt8](unsafeUninitializedCapacity: nocturne_deflate_bound(content.count)) { target, count in
            let voxels = nocturne_voxels(width: width, row: row)
            count = nocturne_deflate(deflater, content, content.count, voxels, isLast ? 1 : 0, target.baseAddress)
        }
    }

    /// What zlib makes of it; nil when it finds a fault, or no end where there should be one.
    private func inflated(_ bytes: [UInt8], room: Int) -> [UInt8]? {
        var stream = z_stream()
        // Negative window bits: no header of zlib's own.
        guard czlib_inflateInit2(&stream, -15) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var input = bytes
        var ended = false
        let content = [UInt8](unsafeUninitializedCapacity: room + 1) { target, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = uInt(input.count)
                stream.next_out = target.baseAddress
                stream.avail_out = uInt(room + 1)
                ended = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0
                count = room + 1 - Int(stream.avail_out)
            }
        }
        return ended ? content : nil
    }

    enum Content: String, CaseIterable {
        case noise, zeros, fewValues, noisyWords, rows, runs, skewed, sawtooth

        func bytes(_ count: Int, width: Int, row: Int, seed: UInt64) -> [UInt8] {
            var dice = SplitMix64(seed: seed)
            var bytes: [UInt8] = []
            for index in 0..<count {
                switch self {
                case .noise: bytes.append(UInt8.random(in: 0...255, using: &dice))
                case .zeros: bytes.append(0)
                case .fewValues: bytes.append(UInt8.random(in: 0...2, using: &dice))
                case .noisyWords:
                    bytes.append(index % width == 0 ? UInt8.random(in: 0...40, using: &dice) : 0xfc)
                case .rows:
                    let repeats = row > 0 && index >= row && Int.random(in: 0..<60, using: &dice) > 0
                    bytes.append(repeats ? bytes[index - row] : UInt8.random(in: 0...5, using: &dice))
                case .runs:
                    let repeats = index >= width && Int.random(in: 0..<90, using: &dice) > 0
                    bytes.append(repeats ? bytes[index - width] : UInt8.random(in: 0...255, using: &dice))
                // Each value half as often as the one before: codes longer than there may be.
                case .skewed: bytes.append(UInt8(truncatingIfNeeded: dice.next().trailingZeroBitCount))
                case .sawtooth: bytes.append(UInt8(truncatingIfNeeded: index / 3))
                }
            }
            return bytes
        }
    }

    @Test("zlib reads back what was written", arguments: Content.allCases, [1, 2, 4])
    func roundTrip(content: Content, width: Int) {
        for (place, count) in [0, 1, 2, 3, 4, 7, 8, 9, 31, 259, 4096, 70000, 300_000].enumerated() {
            let whole = count / width * width
            func filled(_ row: Int) -> [UInt8] { content.bytes(whole, width: width, row: row, seed: UInt64(place)) }
            // Of the contents, only that one depends on the row.
            let same = content == .rows ? nil : filled(0)
            for row in [0, width, 37 * width, 40000] {
                let bytes = same ?? filled(row)
                let packed = compressed(bytes, width: Int32(width), row: row)
                #expect(packed.count <= nocturne_deflate_bound(whole))
                #expect(inflated(packed, room: whole) == bytes, "\(whole) bytes, rows of \(row)")
            }
        }
    }

    @Test("pieces that do not end the stream join into one", arguments: [1, 2, 4])
    func joined(width: Int) {
        let pieces = Content.allCases.enumerated().map {
            $1.bytes(1200 * $0, width: width, row: 64, seed: UInt64($0))
        }
        var packed: [UInt8] = []
        for (index, piece) in pieces.enumerated() {
            packed += compressed(piece, width: Int32(width), row: 64, isLast: index == pieces.count - 1)
        }
        let all = pieces.flatMap { $0 }
        #expect(inflated(packed, room: all.count) == all)
    }

    @Test("a compressor used before gives the same bytes as a new one")
    func used() {
        let first = Content.fewValues.bytes(50000, width: 2, row: 100, seed: 1)
        let second = Content.noisyWords.bytes(50000, width: 2, row: 100, seed: 2)
        let deflater = nocturne_deflater_new()
        defer { nocturne_deflater_free(deflater) }
        var target = [UInt8](repeating: 0, count: nocturne_deflate_bound(50000))
        let voxels = nocturne_voxels(width: 2, row: 100)
        _ = nocturne_deflate(deflater, first, first.count, voxels, 1, &target)
        let count = nocturne_deflate(deflater, second, second.count, voxels, 1, &target)
        #expect(Array(target[..<count]) == compressed(second, width: 2, row: 100))
    }

    @Test("what lies in images and label maps is packed as well as by zlib's fastest level")
    func size() {
        for (content, width) in [(Content.noisyWords, 2), (.rows, 1), (.runs, 2), (.zeros, 4)] {
            let bytes = content.bytes(400_000, width: width, row: 512 * width, seed: 9)
            let packed = compressed(bytes, width: Int32(width), row: 512 * width)
            var count = compressBound(uLong(bytes.count))
            var target = [UInt8](repeating: 0, count: Int(count))
            #expect(compress2(&target, &count, bytes, uLong(bytes.count), 1) == Z_OK)
            #expect(packed.count <= Int(count), "\(content)")
        }
        // What cannot be packed grows by the marks of stored blocks only.
        let noise = Content.noise.bytes(400_000, width: 1, row: 0, seed: 3)
        #expect(compressed(noise, width: 1, row: 0).count < 400_000 + 100)
    }
}
