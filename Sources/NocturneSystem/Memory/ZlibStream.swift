internal import CZlib

/// Compression by deflate.
package enum ZlibStream {
    /// A stream with zlib's header, as PNG and TIFF have it.
    /// - Returns: nil if memory runs out. The same bytes give the same stream.
    package static func deflated(_ bytes: [UInt8]) -> [UInt8]? {
        var length = compressBound(uLong(bytes.count))
        var status = Z_OK
        let result = [UInt8](unsafeUninitializedCapacity: Int(length)) { target, count in
            status = compress2(target.baseAddress, &length, bytes, uLong(bytes.count), level)
            count = status == Z_OK ? Int(length) : 0
        }
        return status == Z_OK ? result : nil
    }

    /// - Parameter expected: the number of bytes before compression; never more are written.
    /// - Returns: nil if the stream is damaged or holds another number of bytes, or if memory runs out.
    package static func inflated(_ bytes: [UInt8], expected: Int) -> [UInt8]? {
        var (length, status) = (uLongf(expected), Z_OK)
        let result = [UInt8](unsafeUninitializedCapacity: expected) { target, count in
            status = uncompress(target.baseAddress, &length, bytes, uLong(bytes.count))
            count = status == Z_OK ? Int(length) : 0
        }
        return status == Z_OK && result.count == expected ? result : nil
    }

    /// zlib's usual one.
    private static let level: Int32 = 6

    // MARK: With a dictionary

    /// Compresses a text that is like another one: what both have in common takes a few bytes.
    /// - Parameter dictionary: the other text; of a longer one, the last 32 kB are used.
    /// - Returns: a stream without header, which only the same dictionary decompresses; nil if memory runs out.
    package static func deflated(_ bytes: [UInt8], like dictionary: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        guard czlib_deflateInit2(&stream, level, rawWindow(bytes.count + dictionary.count)) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        guard deflateSetDictionary(&stream, dictionary, uInt(dictionary.count)) == Z_OK else { return nil }
        let capacity = Int(deflateBound(&stream, uLong(bytes.count)))
        return run(&stream, over: bytes, capacity: capacity) { deflate($0, Z_FINISH) }
    }

    /// - Parameters:
    ///   - expected: the number of bytes before compression; never more are written.
    ///   - dictionary: that of the compression.
    /// - Returns: nil if the stream is damaged or holds another number of bytes, or if memory runs out.
    package static func inflated(_ bytes: [UInt8], expected: Int, like dictionary: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        guard czlib_inflateInit2(&stream, rawWindow(expected + dictionary.count)) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        guard inflateSetDictionary(&stream, dictionary, uInt(dictionary.count)) == Z_OK else { return nil }
        let result = run(&stream, over: bytes, capacity: expected) { inflate($0, Z_FINISH) }
        return result?.count == expected ? result : nil
    }

    /// - Returns: nil unless the stream ends with these bytes.
    private static func run(
        _ stream: inout z_stream,
        over bytes: [UInt8],
        capacity: Int,
        _ step: (z_streamp) -> Int32
    ) -> [UInt8]? {
        var (input, status) = (bytes, Z_OK)
        let result = [UInt8](unsafeUninitializedCapacity: capacity) { target, count in
            input.withUnsafeMutableBufferPointer { input in
                (stream.next_in, stream.avail_in) = (input.baseAddress, uInt(input.count))
                (stream.next_out, stream.avail_out) = (target.baseAddress, uInt(target.count))
                status = step(&stream)
            }
            count = status == Z_STREAM_END ? Int(stream.total_out) : 0
        }
        return status == Z_STREAM_END ? result : nil
    }

    /// The window for this number of bytes and the 262 that zlib keeps for itself, as zlib takes its size: negative for a stream
    /// without header.
    private static func rawWindow(_ bytes: Int) -> Int32 {
        -((Int32(9)...15).first { bytes + 262 <= 1 << $0 } ?? 15)
    }
}
