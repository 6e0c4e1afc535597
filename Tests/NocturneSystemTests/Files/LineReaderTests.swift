import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The lines of a file")
struct LineReaderTests {
    private func lines(_ text: [UInt8]) throws -> (lines: [[UInt8]], isIncomplete: Bool, bytes: Int) {
        let folder = try TemporaryFolder()
        let path = folder("text").path
        try FileSystem.write(path, text)
        var reader = try LineReader(path)
        var lines: [[UInt8]] = []
        while let line = try reader.next() { lines.append(line) }
        return (lines, reader.isIncomplete, reader.bytesRead)
    }

    @Test(
        "are those between line feeds, also where they do not fit into one piece",
        arguments: [0, 1, 65_535, 65_536, 65_537, 200_000]
    )
    func content(length: Int) throws {
        let long = Array(repeating: UInt8(ascii: "x"), count: length)
        let text = Array("a\n\n".utf8) + long + Array("\nlast".utf8)
        let found = try lines(text)
        #expect(found.lines == [Array("a".utf8), [], long, Array("last".utf8)])
        #expect(found.isIncomplete && found.bytes == text.count)
        let complete = try lines(text + [10])
        #expect(complete.lines == found.lines && !complete.isIncomplete && complete.bytes == text.count + 1)
    }

    @Test("Of an empty file there are none; a line that is too long ends the reading")
    func ends() throws {
        let empty = try lines([])
        #expect(empty.lines.isEmpty && !empty.isIncomplete)
        let folder = try TemporaryFolder()
        let path = folder("text").path
        try FileSystem.write(path, Array(repeating: 65, count: 300_000))
        var reader = try LineReader(path, longestLine: 100_000)
        #expect(throws: FileSystemError.self) { _ = try reader.next() }
    }
}
