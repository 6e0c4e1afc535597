import Glibc

/// The lines of a file, one after the other: for files that may be larger than memory.
public struct LineReader: ~Copyable {
    private let path: String
    private let file: FileDescriptor
    private let longestLine: Int
    private var buffer: [UInt8] = []
    /// In the buffer.
    private var place = 0
    private var isAtEnd = false
    /// How many bytes the lines so far have, with their line feeds.
    public private(set) var bytesRead = 0
    /// Whether the last line so far has no line feed.
    public private(set) var isIncomplete = false

    private static let pieceSize = 1 << 16

    /// - Parameter longestLine: in bytes; memory is taken for one line at a time.
    public init(_ path: String, longestLine: Int = 64 << 20) throws(FileSystemError) {
        self.path = path
        self.longestLine = longestLine
        file = try FileDescriptor(reading: path)
    }

    /// The next line without its line feed; nil at the end of the file.
    /// - Throws: `EFBIG` for a line that is too long.
    public mutating func next() throws(FileSystemError) -> [UInt8]? {
        var start = place
        while true {
            if let end = buffer[start...].firstIndex(of: 10) {
                let line = Array(buffer[place..<end])
                place = end + 1
                bytesRead += line.count + 1
                return line
            }
            if isAtEnd { return rest() }
            buffer.removeFirst(place)
            place = 0
            start = buffer.count
            guard start <= longestLine else { throw FileSystemError(.read, path: path, code: EFBIG) }
            let piece = try file.read(count: Self.pieceSize)
            isAtEnd = piece.count < Self.pieceSize
            buffer += piece
        }
    }

    private mutating func rest() -> [UInt8]? {
        guard place < buffer.count else { return nil }
        let line = Array(buffer[place...])
        place = buffer.count
        bytesRead += line.count
        isIncomplete = true
        return line
    }
}
