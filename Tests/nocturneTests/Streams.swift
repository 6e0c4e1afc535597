import CZlib
import Foundation

/// What is inside compressed streams: those of zlib wherever one begins, and gzip.
enum Streams {
    static func deflated(_ bytes: [UInt8]) -> [UInt8] {
        var length = compressBound(UInt(bytes.count))
        var result = [UInt8](repeating: 0, count: Int(length))
        compress2(&result, &length, bytes, UInt(bytes.count), 9)
        return Array(result.prefix(Int(length)))
    }

    static func checksum(_ bytes: [UInt8]) -> UInt32 { UInt32(crc32(0, bytes, UInt32(bytes.count))) }

    /// The content of every stream that begins somewhere in `bytes` and goes on for more than a few bytes.
    static func inflated(in bytes: [UInt8], most: Int = 8 << 20) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var place = 0
        while place + 2 < bytes.count {
            let isGzip = place == 0 && bytes[0] == 0x1F && bytes[1] == 0x8B
            // The two bytes are a method, a window and a check by 31.
            let isZlib = bytes[place] == 0x78 && (Int(bytes[place]) << 8 | Int(bytes[place + 1])) % 31 == 0
            if isGzip || isZlib, let (content, used) = inflate(bytes, from: place, most: most), content.count > 16 {
                found.append(content)
                place += max(used, 1)
            } else {
                place += 1
            }
        }
        return found
    }

    private static func inflate(_ bytes: [UInt8], from place: Int, most: Int) -> ([UInt8], used: Int)? {
        var stream = z_stream()
        // 32: either header.
        guard inflateInit2_(&stream, 15 + 32, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            return nil
        }
        defer { inflateEnd(&stream) }
        var content: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        var source = Array(bytes[place...])
        return source.withUnsafeMutableBufferPointer { source -> ([UInt8], used: Int)? in
            stream.next_in = source.baseAddress
            stream.avail_in = UInt32(source.count)
            var code = Z_OK
            while code == Z_OK && content.count < most {
                code = block.withUnsafeMutableBufferPointer { block in
                    stream.next_out = block.baseAddress
                    stream.avail_out = UInt32(block.count)
                    return CZlib.inflate(&stream, Z_NO_FLUSH)
                }
                content += block.prefix(block.count - Int(stream.avail_out))
            }
            return content.isEmpty ? nil : (content, source.count - Int(stream.avail_in))
        }
    }
}
