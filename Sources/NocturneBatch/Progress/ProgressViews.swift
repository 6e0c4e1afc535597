import Glibc
public import NocturneOutput
public import NocturneSystem
import Synchronization

/// How long the end of a run waits for whoever reads its output, when nothing is read.
private let readerPatience = Duration.seconds(5)

/// Events as JSON lines on standard output: `--json`.
public struct JSONLinesView: ProgressView {
    /// Without state: the lines go to standard output.
    public init() {}
    /// One object a line, as in `events.jsonl`. Does not wait for whoever reads.
    public func show(_ event: BatchEvent, _ status: ProgressStatus) {
        guard let line = try? StableJSON.encodeLine(event) else { return }
        LineWriter.standardOutput.append(line)
    }
    /// Waits for whoever reads, at most five seconds in which nothing is read.
    public func flush() async { await LineWriter.standardOutput.flush(patience: readerPatience) }
}

/// One plain line an item on standard error, with local date and time: for files and pipes, never a control character.
public struct PlainLinesView: ProgressView {
    private let time: any TimeSource
    private let onlyFailures: Bool

    /// - Parameters:
    ///   - time: of the timestamps.
    ///   - onlyFailures: whether only failed and quarantined items are shown, and why the run stops before its end: `--quiet`.
    public init(time: any TimeSource = SystemTime(), onlyFailures: Bool = false) {
        (self.time, self.onlyFailures) = (time, onlyFailures)
    }

    /// Shows events that ``EventText/line(_:_:)`` has a text for.
    public func show(_ event: BatchEvent, _ status: ProgressStatus) {
        if onlyFailures, !event.isUrgent, ![.itemFailed, .itemQuarantined].contains(event.event) { return }
        guard let text = EventText.line(event, status) else { return }
        LineWriter.standardError.append(Array("\(time.wallClock.localText) \(text)\n".utf8))
    }
    /// Waits for whoever reads, at most five seconds in which nothing is read.
    public func flush() async { await LineWriter.standardError.flush(patience: readerPatience) }
}

/// Lines as above, and under them lines that are redrawn, for the batch and the items at work: for terminals.
public final class BarView: ProgressView {
    private let colour: Bool
    /// Characters of the lines that are redrawn; empty when there are none.
    private let drawn = Mutex<[Int]>([])

    /// - Parameter colour: off when `NO_COLOR` is set or the terminal is dumb.
    public init(colour: Bool) { self.colour = colour }

    /// Puts the text above the lines that are redrawn. Bad news is red where the terminal has colours.
    public func show(_ event: BatchEvent, _ status: ProgressStatus) {
        guard event.event != .heartbeat, event.event != .itemStarted, let text = EventText.line(event, status) else {
            refresh(status)
            return
        }
        let bad = [.itemFailed, .itemQuarantined].contains(event.event)
        write(erase() + (colour && bad ? "\u{1B}[31m\(text)\u{1B}[0m" : text) + "\n")
        refresh(status)
    }

    /// Draws the lines again, unless the terminal still has 4 KiB to read.
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

    /// Removes the lines that are redrawn.
    public func close() { write(erase()) }
    /// Waits for whoever reads, at most five seconds in which nothing is read.
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
