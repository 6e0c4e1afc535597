internal import CZlib
internal import NocturneConcurrency

#if canImport(Glibc)
    internal import Glibc
#endif

/// Compresses a long run of bytes into one gzip member on several threads.
///
/// The content is cut into fixed chunks that are deflated without knowing of each other; every chunk but the last ends
/// on a byte (`Z_SYNC_FLUSH`), so they join into one deflate stream, and their checksums are combined. The cut does not
/// depend on threads, there is no time stamp and no name: the bytes are a function of the content alone.
/// Source: the method of pigz with `--independent`.
struct ParallelGzip {
    enum Fault: Error {
        case output(FileOutputFault)
        case cancelled
        case noMemory
    }

    /// Content bytes of a chunk: a few milliseconds of work, and under 0.1 % lost at its ends.
    static let chunkBytes = 1 << 20
    /// Chunks in flight: 2.3 MiB each with what zlib takes, 28 MiB in all.
    private static let slotCount = 12
    /// Writes `prefix` and then `count` bytes, asked for chunk by chunk.
    ///
    /// - Parameters:
    ///   - level: zlib's, 1 to 9.
    ///   - fill: puts the bytes of a range of the content at the address; called on several threads.
    static func write(
        prefix: [UInt8],
        count: Int,
        level: Int32,
        to output: inout CheckedFileOutput,
        scope: ComputeScope,
        fill: @Sendable (Range<Int>, UnsafeMutableRawPointer) -> Void
    ) throws(Fault) {
        let chunks = 1 + (count + chunkBytes - 1) / chunkBytes
        var slots: [DeflateSlot] = []
        for _ in 0..<min(slotCount, chunks) {
            slots.append(try DeflateSlot(capacity: max(chunkBytes, prefix.count), level: level))
        }
        var checksum = crc32(0, nil, 0)
        try emit([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], to: &output)
        var first = 0
        while first < chunks {
            let wave = slots.prefix(min(slots.count, chunks - first))
            do {
                try scope.forEach(wave.count) { [first] index in
                    let chunk = first + index
                    if chunk == 0 {
                        prefix.withUnsafeBytes {
                            wave[index].content.copyMemory(from: $0.baseAddress!, byteCount: $0.count)
                        }
                        wave[index].deflate(count: prefix.count, isLast: chunks == 1)
                    } else {
                        let start = (chunk - 1) * chunkBytes
                        let range = start..<min(count, start + chunkBytes)
                        fill(range, wave[index].content)
                        wave[index].deflate(count: range.count, isLast: chunk == chunks - 1)
                    }
                }
            } catch {
                throw .cancelled
            }
            for slot in wave {
                guard slot.succeeded else { throw .noMemory }
                checksum = crc32_combine(checksum, slot.checksum, slot.contentCount)
                do { try output.write(slot.packed) } catch { throw .output(error) }
            }
            first += wave.count
        }
        let total = UInt32(truncatingIfNeeded: prefix.count + count)
        try emit(bytes(of: UInt32(truncatingIfNeeded: checksum)) + bytes(of: total), to: &output)
    }

    private static func emit(_ bytes: [UInt8], to output: inout CheckedFileOutput) throws(Fault) {
        do { try output.write(bytes) } catch { throw .output(error) }
    }

    private static func bytes(of value: UInt32) -> [UInt8] { (0..<4).map { UInt8(value >> (8 * $0) & 0xff) } }
}

/// The buffers and the compressor of one chunk in flight.
private final class DeflateSlot: @unchecked Sendable {
    // Unchecked: a wave gives each slot to exactly one index, and reads it when the wave is over.
    let content: UnsafeMutableRawPointer
    private let compressed: UnsafeMutableRawPointer
    private let compressedCapacity: Int
    private let stream: UnsafeMutablePointer<z_stream>
    private(set) var contentCount = 0
    private var compressedCount = 0
    private(set) var checksum: uLong = 0
    private(set) var succeeded = false

    init(capacity: Int, level: Int32) throws(ParallelGzip.Fault) {
        // What incompressible content takes, and the marks of the flush.
        compressedCapacity = Int(compressBound(uLong(capacity))) + 64
        content = .allocate(byteCount: capacity, alignment: 64)
        compressed = .allocate(byteCount: compressedCapacity, alignment: 64)
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Negative window bits: deflate data without zlib's own header.
        guard czlib_deflateInit2(stream, level, -15) == Z_OK else { throw .noMemory }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        content.deallocate()
        compressed.deallocate()
    }

    var packed: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: compressed, count: compressedCount) }

    func deflate(count: Int, isLast: Bool) {
        deflateReset(stream)
        stream.pointee.next_in = content.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = uInt(count)
        stream.pointee.next_out = compressed.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = uInt(compressedCapacity)
        let result = CZlib.deflate(stream, isLast ? Z_FINISH : Z_SYNC_FLUSH)
        succeeded = result == (isLast ? Z_STREAM_END : Z_OK) && stream.pointee.avail_in == 0
        contentCount = count
        compressedCount = compressedCapacity - Int(stream.pointee.avail_out)
        checksum = crc32(crc32(0, nil, 0), content.assumingMemoryBound(to: UInt8.self), uInt(count))
    }
}
