import Glibc
public import NocturneOutput
public import NocturneSystem
import Synchronization

/// How long the end of a run waits for whoever reads its output, when nothing is read.
private let readerPatience = Duration.seconds(5)

/// Shows items that failed, and nothing else, as plain lines on standard error: `--quiet`.
public struct FailuresView: ProgressView {
    private let lines = PlainLinesView()

    public init() {}
    public func show(_ event: BatchEvent, _ status: ProgressStatus) {
        if [.itemFailed, .itemQuarantined].contains(event.event) { lines.show(event, status) }
    }
    public func flush() async { await lines.flush() }
}

/// Events as JSON lines on standard output: `--json`.
public struct JSONLinesView: ProgressView {
    public init() {}
    public func show(_ event: BatchEvent, _ status: ProgressStatus) {
        guard let line = try? StableJSON.encodeLine(event) else { return }
        LineWriter.standardOutput.append(line)
    }
    public func flush() async { await LineWriter.standardOutput.flush(patience: readerPatience) }
}

/// One plain line an item on standard error, with local date and time: for files and pipes, never a control character.
public struct PlainLinesView: ProgressView {
    private let time: any TimeSource

    public init(time: any TimeSource = SystemTime()) { self.time = time }

    public func show(_ event: BatchEvent, _ status: ProgressStatus) {
        guard let text = EventText.line(event, status) else { return }
        LineWriter.standardError.append(Array("\(time.wallClock.localText) \(text)\n".utf8))
    }
    public func flush() async { await LineWriter.standardError.flush(patience: readerPatience) }
}

/// Lines as above, and under them lines that are redrawn, for the batch and the items at work: for terminals.
public final class BarView: ProgressView {
    private let colour: Bool
    /// Characters of the lines that are redrawn; empty when there are none.
    private let drawn = Mutex<[Int]>([])

    /// - Parameter colour: off when `NO_COLOR` is set or the terminal is dumb.
    public init(colour: Bool) { self.colour = colour }

    public func show(_ event: BatchEvent, _ status: ProgressStatus) {
        guard event.event != .heartbeat, event.event != .itemStarted, let text = EventText.line(event, status) else {
            refresh(status)
            return
        }
        let bad = [.itemFailed, .itemQuarantined].contains(event.event)
        write(erase() + (colour && bad ? "\u{1B}[31m\(text)\u{1B}[0m" : text) + "\n")
        refresh(status)
    }

    public func refresh(_ status: ProgressStatus) {
        guard status.total > 0 else { return }
        // A picture that nobody could look at yet is not followed by another one.
        guard LineWriter.standardError.waitingBytes < 4096 else { return }
        let (columns, rows) = BarView.size()
        let items = ItemLines.text(status.running, columns: columns, rows: rows)
        let lines = [ProgressLine.text(status, columns: columns, namesItem: items.isEmpty)] + items
        write(erase() + lines.joined(separator: "\n"))
        drawn.withLock { $0 = lines.map(\.count) }
    }

    public func close() { write(erase()) }
    public func flush() async { await LineWriter.standardError.flush(patience: readerPatience) }

    private func erase() -> String {
        drawn.withLock { drawn in
            defer { drawn = [] }
            return ProgressLine.erasing(drawn, columns: BarView.size().columns)
        }
    }

    /// Of the terminal, now: it may have been resized.
    private static func size() -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(2, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    private func write(_ text: String) { if !text.isEmpty { LineWriter.standardError.append(Array(text.utf8)) } }
}
