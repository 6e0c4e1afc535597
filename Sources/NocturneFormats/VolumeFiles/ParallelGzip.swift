internal import CNocturneDeflate
internal import CZlib
internal import NocturneConcurrency
import NocturneSystem

/// Compresses a long sequence of voxels into one gzip member on several threads.
///
/// The content is divided into fixed chunks that are deflated independently. Every chunk but the last ends on a byte
/// boundary, with the empty block of a `Z_SYNC_FLUSH`, so the chunks join into one deflate stream, and their checksums
/// are combined. The division does not depend on threads, and there is no time stamp and no name: the bytes depend on
/// the content alone. Source: the method of pigz with `--independent`; the compressor is ``CNocturneDeflate``.
enum ParallelGzip {
    /// The compressor could not be allocated.
    struct NoMemory: Error {}

    /// The layout of the voxels in the content.
    struct VoxelRows: Sendable {
        /// Bytes per voxel: 1, 2 or 4.
        let width: Int32
        /// Bytes from a voxel to its neighbour in the next row, or 0.
        let bytes: Int

        static let none = VoxelRows(width: 1, bytes: 0)
    }

    /// Content bytes of a chunk: a few milliseconds of work, and under 0.5 % larger output because of the chunk ends.
    static let chunkBytes = 1 << 20
    /// Number of chunks that are deflated while as many are being written.
    private static let waveCount = 6
    /// Maximum memory, for prefixes up to the size of a chunk.
    static let workingBytes =
        2 * waveCount * (chunkBytes + nocturne_deflate_bound(chunkBytes) + nocturne_deflater_bytes())

    /// Writes `prefix` and then `count` bytes, which are requested chunk by chunk.
    ///
    /// - Parameters:
    ///   - rows: how voxels lie in the content.
    ///   - fill: writes the bytes of a range of the content to the address; called on several threads.
    /// - Throws: `FileSystemError`, `CancelledError`, ``NoMemory``.
    static func write(
        prefix: [UInt8],
        count: Int,
        rows: VoxelRows,
        to output: inout FileDescriptor,
        scope: ComputeScope,
        fill: @Sendable (Range<Int>, UnsafeMutableRawPointer) -> Void
    ) throws {
        let chunks = 1 + (count + chunkBytes - 1) / chunkBytes
        let slotCount = min(waveCount, chunks)
        let capacity = max(min(chunkBytes, count), prefix.count)
        // The second group is for what comes after the first.
        var waves: [[DeflateSlot]] = []
        for size in [slotCount, min(slotCount, chunks - slotCount)] {
            var wave: [DeflateSlot] = []
            for _ in 0..<size { wave.append(try DeflateSlot(capacity: capacity)) }
            waves.append(wave)
        }
        var checksum = crc32(0, nil, 0)
        try output.write([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
        var fault: FileSystemError?
        var ready: ArraySlice<DeflateSlot> = []
        var first = 0
        while first < chunks || !ready.isEmpty {
            let wave = waves[0].prefix(min(slotCount, chunks - first))
            let isLastWave = first + wave.count == chunks
            // One thread writes the previous group of chunks, while the others compress.
            try withUnsafeMutablePointer(to: &output) { output throws(CancelledError) in
                let output = ParallelBuffer(output)
                try withUnsafeMutablePointer(to: &fault) { fault throws(CancelledError) in
                    let fault = ParallelBuffer(fault)
                    try scope.forEach(wave.count + 1) { [first, ready] index in
                        if index == 0 {
                            fault[0] = write(ready, to: &output.base.pointee)
                        } else if first + index == 1 {
                            wave[0].copy(prefix)
                            wave[0].deflate(VoxelRows.none, isLast: chunks == 1)
                        } else {
                            let start = (first + index - 2) * chunkBytes
                            let range = start..<min(count, start + chunkBytes)
                            wave[index - 1].contentCount = range.count
                            fill(range, wave[index - 1].content)
                            wave[index - 1].deflate(rows, isLast: isLastWave && index == wave.count)
                        }
                    }
                }
            }
            if let fault { throw fault }
            for slot in wave { checksum = crc32_combine(checksum, slot.checksum, slot.contentCount) }
            first += wave.count
            ready = wave
            waves.swapAt(0, 1)
        }
        let total = UInt32(truncatingIfNeeded: prefix.count + count)
        try output.write(bytes(of: UInt32(truncatingIfNeeded: checksum)) + bytes(of: total))
    }

    private static func write(_ slots: ArraySlice<DeflateSlot>, to output: inout FileDescriptor) -> FileSystemError? {
        for slot in slots {
            do { try output.write(slot.packed) } catch { return error }
        }
        return nil
    }

    private static func bytes(of value: UInt32) -> [UInt8] { (0..<4).map { UInt8(value >> (8 * $0) & 0xff) } }

    /// The buffers and the compressor of one chunk that is being processed.
    private final class DeflateSlot: @unchecked Sendable {
        // Unchecked: in each group, only one index uses a slot, and it is read by another one after the group is complete.
        let content: UnsafeMutableRawPointer
        var contentCount = 0
        private let compressed: UnsafeMutableRawPointer
        private let compressor: OpaquePointer
        private var compressedCount = 0
        private(set) var checksum: uLong = 0

        init(capacity: Int) throws(ParallelGzip.NoMemory) {
            guard let compressor = nocturne_deflater_new() else { throw ParallelGzip.NoMemory() }
            self.compressor = compressor
            content = .allocate(byteCount: capacity, alignment: 64)
            compressed = .allocate(byteCount: nocturne_deflate_bound(capacity), alignment: 64)
        }

        deinit {
            nocturne_deflater_free(compressor)
            content.deallocate()
            compressed.deallocate()
        }

        var packed: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: compressed, count: compressedCount) }

        func copy(_ bytes: [UInt8]) {
            bytes.withUnsafeBytes {
                if let base = $0.baseAddress { content.copyMemory(from: base, byteCount: $0.count) }
            }
            contentCount = bytes.count
        }

        func deflate(_ rows: ParallelGzip.VoxelRows, isLast: Bool) {
            compressedCount = nocturne_deflate(
                compressor,
                content,
                contentCount,
                nocturne_voxels(width: rows.width, row: rows.bytes),
                isLast ? 1 : 0,
                compressed
            )
            checksum = crc32(crc32(0, nil, 0), content.assumingMemoryBound(to: UInt8.self), uInt(contentCount))
        }
    }
}
