internal import CZlib

/// Compression by deflate.
package enum ZlibStream {
    /// A stream with zlib's header, as PNG and TIFF have it.
    /// - Parameter level: 0 to 9; 6 is zlib's usual one.
    /// - Returns: nil if memory runs out. The same bytes give the same stream.
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
    /// - Returns: nil if the stream is damaged or holds another number of bytes, or if memory runs out.
    package static func inflated(_ bytes: [UInt8], expected: Int) -> [UInt8]? {
        var (length, status) = (uLongf(expected), Z_OK)
        let result = [UInt8](unsafeUninitializedCapacity: expected) { target, count in
            status = uncompress(target.baseAddress, &length, bytes, uLong(bytes.count))
            count = status == Z_OK ? Int(length) : 0
        }
        return status == Z_OK && result.count == expected ? result : nil
    }
}
