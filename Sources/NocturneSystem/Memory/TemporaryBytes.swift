import Synchronization

/// Records of bytes that are appended and never changed: the latest ones in memory, those before in a temporary file without
/// a name.
///
/// Where no file can be written, all of them stay in memory.
final class TemporaryBytes: Sendable {
    /// Where a record is.
    struct Place: Sendable {
        private let bits: UInt64

        fileprivate init(block: Int, start: Int) { bits = UInt64(block) << 20 | UInt64(start) }

        fileprivate var block: Int { Int(bits >> 20) }
        fileprivate var start: Int { Int(bits & (1 << 20 - 1)) }
    }

    /// Bytes of a block that a reader of one record after the other keeps.
    struct Window {
        fileprivate var block = -1
        fileprivate var start = 0
        fileprivate var bytes: [UInt8] = []
    }

    private struct Block {
        /// Empty for a block in the file.
        var bytes: [UInt8] = []
        /// Where the block is in the file.
        var offset = 0
        var count = 0
    }

    private struct State: ~Copyable {
        var blocks: [Block] = []
        var file: FileDescriptor?
        var fileBytes = 0
        /// Whether a file could not be written.
        var staysInMemory = false
    }

    private let state = Mutex(State())
    private let folder: String

    /// A block with more has one record.
    private static let blockBytes = 1 << 20
    /// What is read at once of a block in the file.
    private static let windowBytes = 4096

    /// - Parameter folder: of the file, which is made when the first block is full.
    init(folder: String) { self.folder = folder }

    func append(_ record: [UInt8]) -> Place {
        state.withLock { state in
            let length = record.count + 5
            let isFull = state.blocks.last.map { $0.bytes.count + length > Self.blockBytes } ?? true
            if isFull {
                write(&state)
                state.blocks.append(Block())
            }
            let last = state.blocks.count - 1
            let place = Place(block: last, start: state.blocks[last].bytes.count)
            state.blocks[last].bytes.append(number: UInt64(record.count))
            state.blocks[last].bytes += record
            state.blocks[last].count = state.blocks[last].bytes.count
            return place
        }
    }

    /// Moves the last block to the file.
    private func write(_ state: inout State) {
        guard !state.staysInMemory, let last = state.blocks.indices.last else { return }
        do {
            if state.file == nil { state.file = try FileDescriptor(temporaryIn: folder) }
            let bytes = state.blocks[last].bytes
            let offset = state.fileBytes
            try bytes.withUnsafeBytes { try state.file?.write($0, at: offset) }
            state.blocks[last].offset = offset
            state.blocks[last].bytes = []
            state.fileBytes += bytes.count
        } catch {
            state.staysInMemory = true
        }
    }

    /// - Parameter window: kept between the reads of one record after the other.
    func record(at place: Place, _ window: inout Window) -> [UInt8] {
        if window.block == place.block, place.start >= window.start,
            let record = Self.record(in: window.bytes, from: place.start - window.start)
        {
            return record
        }
        return state.withLock { state in
            let block = state.blocks[place.block]
            if !block.bytes.isEmpty, let record = Self.record(in: block.bytes, from: place.start) { return record }
            var wanted = Self.windowBytes
            while true {
                let count = min(wanted, block.count - place.start)
                // An error of the disk, as with swapped memory: the process cannot go on.
                guard let bytes = try? state.file?.read(count: count, at: block.offset + place.start),
                    bytes.count == count
                else { preconditionFailure("a temporary file in \(folder) cannot be read") }
                if let record = Self.record(in: bytes, from: 0) {
                    (window.block, window.start, window.bytes) = (place.block, place.start, bytes)
                    return record
                }
                precondition(count == wanted, "a temporary file in \(folder) is damaged")
                wanted *= 16
            }
        }
    }

    /// Nil where the bytes end before the record does.
    private static func record(in bytes: [UInt8], from start: Int) -> [UInt8]? {
        guard start < bytes.count else { return nil }
        var rest = bytes[start...]
        guard let length = rest.popNumber(), Int(length) <= rest.count else { return nil }
        return Array(rest.prefix(Int(length)))
    }
}
