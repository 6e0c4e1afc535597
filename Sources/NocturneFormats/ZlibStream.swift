internal import CZlib

/// Compression by deflate with zlib's header, as PNG and TIFF have it.
enum ZlibStream {
    /// - Returns: nil if there is no memory. The same bytes give the same stream.
    static func deflated(_ bytes: [UInt8]) -> [UInt8]? {
        var length = compressBound(uLong(bytes.count))
        var status = Z_OK
        let result = [UInt8](unsafeUninitializedCapacity: Int(length)) { target, count in
            status = compress2(target.baseAddress, &length, bytes, uLong(bytes.count), 6)
            count = status == Z_OK ? Int(length) : 0
        }
        return status == Z_OK ? result : nil
    }
}
