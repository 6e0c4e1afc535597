internal import CZlib
internal import Glibc
import NocturneSystem

/// A file read sequentially: directly, or decompressed.
///
/// Consecutive gzip members form one stream. Holds 128 KiB of input and zlib's 40 KiB.
final class VolumeByteSource {
    let path: String
    /// The size of the file on disk.
    let fileSize: Int
    /// Bytes returned so far, after decompression.
    private(set) var position = 0
    private let file: FileDescriptor
    private let input: UnsafeMutablePointer<UInt8>
    private var inputStart = 0
    private var inputEnd = 0
    private var inflater: UnsafeMutablePointer<z_stream>?
    private var atMemberEnd = false
    /// Whether the file ended inside a gzip member.
    private(set) var endsInsideMember = false

    /// Where the content begins in the file.
    private let start: Int
    /// What a compressed stream is called in errors.
    private let streamName: String

    /// How the content is stored.
    enum Compression {
        /// By gzip when the file starts with its two magic bytes, whatever its name; else not at all.
        case recognised
        case none
        /// By gzip or zlib.
        case deflate
    }

    private static let inputCapacity = 128 << 10
    /// The largest compression ratio of deflate: 1,032 to 1.
    private static let maximumRatio = 1032

    /// - Parameter start: the offset of compressed content.
    init(path: String, _ compression: Compression = .recognised, from start: Int = 0) throws(VolumeFileError) {
        let file = try Self.open(path)
        fileSize = try Self.byteCount(of: file)
        self.path = path
        self.start = start
        streamName = compression == .deflate ? "compressed" : "gzip"
        do { try file.advance(by: start) } catch { throw VolumeFileError(.unreadable, reading: error) }
        self.file = file
        input = .allocate(capacity: Self.inputCapacity)
        try refill()
        let isGzip = inputEnd >= 2 && input[0] == 0x1f && input[1] == 0x8b
        if compression == .deflate || compression == .recognised && isGzip {
            let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
            stream.initialize(to: z_stream())
            // 32: gzip or zlib, by the first bytes.
            guard czlib_inflateInit2(stream, 15 + (compression == .deflate ? 32 : 16)) == Z_OK else {
                stream.deallocate()
                throw VolumeFileError(.outOfMemory, path: path, "no memory to decompress")
            }
            inflater = stream
        }
    }

    deinit {
        if let inflater {
            inflateEnd(inflater)
            inflater.deallocate()
        }
        input.deallocate()
    }

    var isCompressed: Bool { inflater != nil }

    /// The maximum number of bytes the file can contain after decompression.
    var maximumContent: Int {
        guard isCompressed else { return fileSize }
        let (product, overflow) = max(0, fileSize - start).multipliedReportingOverflow(
            by: VolumeByteSource.maximumRatio
        )
        return overflow ? Int.max : product
    }

    /// Fills the buffer as far as the content allows, and returns the number of bytes read.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(VolumeFileError) -> Int {
        guard let base = buffer.baseAddress else { return 0 }
        var filled = 0
        while filled < buffer.count {
            let got =
                isCompressed
                ? try inflateSome(into: base + filled, capacity: buffer.count - filled)
                : try copySome(into: base + filled, capacity: buffer.count - filled)
            if got == 0 { break }
            filled += got
        }
        position += filled
        return filled
    }

    /// The next `count` bytes, or fewer at the end. The array grows only with bytes that exist.
    func read(count: Int) throws(VolumeFileError) -> [UInt8] {
        var bytes: [UInt8] = []
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: min(count, 64 << 10), alignment: 16)
        defer { piece.deallocate() }
        while bytes.count < count {
            let wanted = min(piece.count, count - bytes.count)
            let got = try read(into: UnsafeMutableRawBufferPointer(rebasing: piece[..<wanted]))
            bytes.append(contentsOf: piece[..<got])
            if got < wanted { break }
        }
        return bytes
    }

    /// Passes over bytes: without reading them in an uncompressed file.
    /// - Parameter target: a position; nothing is done when it is behind.
    /// - Returns: whether the content reaches that far.
    func skip(to target: Int, _ flag: CancellationFlag) throws -> Bool {
        if !isCompressed {
            let buffered = min(max(0, target - position), inputEnd - inputStart)
            inputStart += buffered
            position += buffered
            let rest = target - position
            guard rest > 0 else { return true }
            guard target <= fileSize else { return false }
            do { try file.advance(by: rest) } catch { throw VolumeFileError(.unreadable, reading: error) }
            position = target
            return true
        }
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { scratch.deallocate() }
        while position < target {
            try flag.check()
            let wanted = min(target - position, scratch.count)
            if try read(into: UnsafeMutableRawBufferPointer(rebasing: scratch[..<wanted])) < wanted { return false }
        }
        return true
    }

    /// Skips the rest of the gzip member, so that zlib compares its checksum; gives up after `limit` bytes.
    func finishMember(limit: Int, _ flag: CancellationFlag) throws {
        guard isCompressed else { return }
        let scratch = UnsafeMutableRawPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { scratch.deallocate() }
        var passed = 0
        // One more call than the content needs: the checksum follows the last byte.
        while !atMemberEnd, passed <= limit {
            try flag.check()
            let got = try inflateSome(into: scratch, capacity: 64 << 10, crossingMembers: false)
            passed += got
            if got == 0, !atMemberEnd { break }
        }
        if endsInsideMember {
            throw VolumeFileError(.truncated, path: path, "the \(streamName) stream ends before its checksum")
        }
    }

    private static func open(_ path: String) throws(VolumeFileError) -> FileDescriptor {
        do { return try FileDescriptor(reading: path, points: .input) } catch {
            throw VolumeFileError(.unreadable, reading: error)
        }
    }

    private static func byteCount(of file: borrowing FileDescriptor) throws(VolumeFileError) -> Int {
        do { return try file.status().byteCount } catch { throw VolumeFileError(.unreadable, reading: error) }
    }

    /// Appends more of the file to the remaining input; the input stays unchanged at the end of the file.
    private func refill() throws(VolumeFileError) {
        let left = inputEnd - inputStart
        if left > 0, inputStart > 0 { memmove(input, input + inputStart, left) }
        (inputStart, inputEnd) = (0, left)
        inputEnd += try systemRead(into: input + left, capacity: VolumeByteSource.inputCapacity - left)
    }

    private func systemRead(into destination: UnsafeMutableRawPointer, capacity: Int) throws(VolumeFileError) -> Int {
        do {
            return try file.readSome(into: UnsafeMutableRawBufferPointer(start: destination, count: capacity))
        } catch {
            throw VolumeFileError(.unreadable, reading: error)
        }
    }

    private func copySome(into destination: UnsafeMutableRawPointer, capacity: Int) throws(VolumeFileError) -> Int {
        if inputStart < inputEnd {
            let count = min(capacity, inputEnd - inputStart)
            memcpy(destination, input + inputStart, count)
            inputStart += count
            return count
        }
        return try systemRead(into: destination, capacity: capacity)
    }

    private func inflateSome(
        into destination: UnsafeMutableRawPointer,
        capacity: Int,
        crossingMembers: Bool = true
    ) throws(VolumeFileError) -> Int {
        guard let inflater else { return 0 }
        while true {
            if atMemberEnd {
                guard crossingMembers, try beginNextMember() else { return 0 }
            }
            if inputStart == inputEnd {
                try refill()
                if inputStart == inputEnd {
                    endsInsideMember = true
                    return 0
                }
            }
            // zlib counts in 32 bits.
            let room = min(capacity, 1 << 30)
            inflater.pointee.next_in = input + inputStart
            inflater.pointee.avail_in = uInt(inputEnd - inputStart)
            inflater.pointee.next_out = destination.assumingMemoryBound(to: UInt8.self)
            inflater.pointee.avail_out = uInt(room)
            let result = inflate(inflater, Z_NO_FLUSH)
            inputStart = inputEnd - Int(inflater.pointee.avail_in)
            let produced = room - Int(inflater.pointee.avail_out)
            switch result {
            case Z_STREAM_END: atMemberEnd = true
            // Z_BUF_ERROR: nothing could be done with this input; more is read in the next round.
            case Z_OK, Z_BUF_ERROR: break
            case Z_MEM_ERROR: throw VolumeFileError(.outOfMemory, path: path, "no memory to decompress")
            default:
                let reason = inflater.pointee.msg.map { String(cString: $0) } ?? "zlib code \(result)"
                throw VolumeFileError(
                    .corruptCompression,
                    path: path,
                    "the \(streamName) stream is damaged after \(position + produced) bytes of content: \(reason)"
                )
            }
            if produced > 0 || (atMemberEnd && !crossingMembers) { return produced }
        }
    }

    /// False when no gzip member follows: at the end, or before foreign bytes, which are ignored.
    private func beginNextMember() throws(VolumeFileError) -> Bool {
        if inputEnd - inputStart < 2 { try refill() }
        guard inputEnd - inputStart >= 2, input[inputStart] == 0x1f, input[inputStart + 1] == 0x8b else { return false }
        inflateReset(inflater)
        atMemberEnd = false
        return true
    }
}
