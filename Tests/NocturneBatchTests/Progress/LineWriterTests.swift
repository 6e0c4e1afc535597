import Dispatch
import Foundation
import NocturneBatch
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("LineWriter")
struct LineWriterTests {
    /// A reader that reads nothing until it is let.
    private final class Reader: Sendable {
        let lines = Mutex<[String]>([])
        let isWriting = Mutex(false)
        private let gate = DispatchSemaphore(value: 0)

        func write(_ line: [UInt8]) {
            isWriting.withLock { $0 = true }
            gate.wait()
            gate.signal()
            lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }

        func read() { gate.signal() }
    }

    @Test("A reader that does not read stops nobody; what it misses is counted, and said once it reads again")
    func slowReader() async {
        let reader = Reader()
        let writer = LineWriter(name: "test", limit: 10, notice: { Array("\($0) left out".utf8) }) { reader.write($0) }
        for index in 0..<8 { writer.append(Array("line\(index)".utf8)) }
        #expect(writer.waitingBytes == 10)
        reader.read()
        #expect(await until { writer.waitingBytes == 0 })
        writer.append(Array("last".utf8))
        await writer.flush(patience: nil)
        #expect(reader.lines.withLock { $0 } == ["line0", "line1", "6 left out", "last"])
    }

    @Test("Without a limit every line is written, in order")
    func complete() async {
        let reader = Reader()
        reader.read()
        let writer = LineWriter(name: "test") { reader.write($0) }
        for index in 0..<1000 { writer.append(Array("\(index)".utf8)) }
        await writer.flush(patience: nil)
        #expect(reader.lines.withLock { $0 } == (0..<1000).map(String.init))
    }

    @Test("What was left out at the end is said at the end; a line above the limit is taken when nothing waits")
    func end() async {
        let reader = Reader()
        let writer = LineWriter(name: "test", limit: 2, notice: { Array("\($0) left out".utf8) }) { reader.write($0) }
        writer.append(Array("long line".utf8))
        writer.append(Array("x".utf8))
        reader.read()
        await writer.flush(patience: nil)
        #expect(reader.lines.withLock { $0 } == ["long line", "1 left out"])
    }

    @Test("The end of a run does not wait for a reader that is gone")
    func noReader() async {
        let reader = Reader()
        let writer = LineWriter(name: "test") { reader.write($0) }
        writer.append(Array("x".utf8))
        await writer.flush(patience: .milliseconds(1))
        #expect(reader.lines.withLock { $0 }.isEmpty)
        reader.read()
        await writer.flush(patience: nil)
    }
}

@Suite("ProgressReporter")
struct ProgressReporterTests {
    @Test("The file has every event as a whole line, with the time of the run")
    func events() async throws {
        let folder = try TemporaryFolder("events")
        let path = folder("events.jsonl").path
        // What a killed process left.
        try FileSystem.write(path, Array("{\"event\":\"note\"}\n{\"event\":\"no".utf8))
        let reporter = ProgressReporter(path: path, view: SilentView(), time: ManualTime())
        for index in 0..<500 { await reporter.note("note \(index)") }
        await reporter.close()
        let lines = String(decoding: try FileSystem.read(path), as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 501)
        #expect(lines.last == "{\"event\":\"note\",\"reason\":\"note 499\",\"time\":\"2023-11-14T22:13:20.000Z\"}")
    }
}
