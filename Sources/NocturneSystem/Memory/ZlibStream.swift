internal import CZlib

/// Compression by deflate with zlib's header, as PNG and TIFF have it.
package enum ZlibStream {
    /// - Parameter level: 1 for the fastest to 9 for the smallest.
    /// - Returns: nil if there is no memory. The same bytes give the same stream.
    package static func deflated(_ bytes: [UInt8], level: Int32 = 6) -> [UInt8]? {
        var length = compressBound(uLong(bytes.count))
        var status = Z_OK
        let result = [UInt8](unsafeUninitializedCapacity: Int(length)) { target, count in
            status = compress2(target.baseAddress, &length, bytes, uLong(bytes.count), level)
            count = status == Z_OK ? Int(length) : 0
        }
        return status == Z_OK ? result : nil
    }

    /// - Parameter expected: the number of bytes before compression; never more are written.
    /// - Returns: nil if the stream is damaged or holds another number of bytes, or there is no memory.
    package static func inflated(_ bytes: [UInt8], expected: Int) -> [UInt8]? {
        var (length, status) = (uLongf(expected), Z_OK)
        let result = [UInt8](unsafeUninitializedCapacity: expected) { target, count in
            status = uncompress(target.baseAddress, &length, bytes, uLong(bytes.count))
            count = status == Z_OK ? Int(length) : 0
        }
        return status == Z_OK && result.count == expected ? result : nil
    }

    // MARK: With a dictionary

    /// Compresses a text that is like another one: what both have in common takes a few bytes.
    /// - Parameter dictionary: the other text; of a longer one, the last 32 kB are used.
    /// - Returns: a stream without header, which only the same dictionary decompresses; nil if there is no memory.
    package static func deflated(_ bytes: [UInt8], like dictionary: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        guard czlib_deflateInit2(&stream, 6, rawWindow(bytes.count + dictionary.count + 262)) == Z_OK else {
            return nil
        }
        defer { deflateEnd(&stream) }
        guard deflateSetDictionary(&stream, dictionary, uInt(dictionary.count)) == Z_OK else { return nil }
        var status = Z_OK
        var input = bytes
        let result = [UInt8](unsafeUninitializedCapacity: Int(deflateBound(&stream, uLong(bytes.count)))) {
            target,
            count in
            input.withUnsafeMutableBufferPointer { input in
                (stream.next_in, stream.avail_in) = (input.baseAddress, uInt(input.count))
                (stream.next_out, stream.avail_out) = (target.baseAddress, uInt(target.count))
                status = deflate(&stream, Z_FINISH)
            }
            count = status == Z_STREAM_END ? Int(stream.total_out) : 0
        }
        return status == Z_STREAM_END ? result : nil
    }

    /// - Parameters:
    ///   - expected: the number of bytes before compression; never more are written.
    ///   - dictionary: that of the compression.
    /// - Returns: nil if the stream is damaged or holds another number of bytes, or there is no memory.
    package static func inflated(_ bytes: [UInt8], expected: Int, like dictionary: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        guard czlib_inflateInit2(&stream, rawWindow(expected + dictionary.count + 262)) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        guard inflateSetDictionary(&stream, dictionary, uInt(dictionary.count)) == Z_OK else { return nil }
        var status = Z_OK
        var input = bytes
        let result = [UInt8](unsafeUninitializedCapacity: expected) { target, count in
            input.withUnsafeMutableBufferPointer { input in
                (stream.next_in, stream.avail_in) = (input.baseAddress, uInt(input.count))
                (stream.next_out, stream.avail_out) = (target.baseAddress, uInt(target.count))
                status = inflate(&stream, Z_FINISH)
            }
            count = status == Z_STREAM_END ? Int(stream.total_out) : 0
        }
        return status == Z_STREAM_END && result.count == expected ? result : nil
    }

    /// The size of the window for so many bytes, of which zlib keeps 262 for itself, as zlib takes it: negative for a stream
    /// without header.
    private static func rawWindow(_ bytes: Int) -> Int32 {
        -((Int32(9)...15).first { bytes <= 1 << $0 } ?? 15)
    }
}
