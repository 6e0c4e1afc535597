import CPosix
import Foundation
import NocturneBatch
import NocturneOutput
import NocturneSupervisor
import NocturneSystem
import Synchronization

/// Prints text: results to standard output, everything else to standard error.
enum Terminal {
    static func printError(_ text: String, prefix: String = "nocturne: ") { printMessage(prefix + text) }

    /// Prints a message to standard error. Control sequences in names of files are replaced, as in results.
    static func printMessage(_ text: String) { write(EventText.printable(text) + "\n") }

    /// Prints a line of results to standard output. Names of files and items may contain terminal control sequences,
    /// which are replaced.
    /// - Throws: `FileSystemError`, as for a full disk.
    static func printResult(_ text: String) throws { try printExactly(EventText.printable(text) + "\n") }

    /// Prints a message from a process that must not block: a terminal that was stopped with Ctrl-S, or a pipe without a
    /// reader, accepts nothing, and the message is dropped.
    static func printUrgently(_ text: String) {
        var line = "nocturne: " + EventText.printable(text) + "\n"
        line.withUTF8 { bytes in
            _ = bytes.withMemoryRebound(to: CChar.self) { cposix_write_nonblocking(2, $0.baseAddress, $0.count) }
        }
    }

    /// Writes to standard error unchanged, after a run's pending output; gives up if nobody reads it within 5 s.
    static func write(_ text: String) { LineWriter.standardError.write(Array(text.utf8), within: 5) }

    /// Whether standard error is a terminal that can move its cursor.
    static var isInteractive: Bool {
        let terminal = ProcessInfo.processInfo.environment["TERM"]
        return isatty(2) == 1 && terminal != nil && terminal != "dumb"
    }

    /// Whether a question reaches a person, and the answer this process.
    static var canAsk: Bool { isatty(0) == 1 && isatty(2) == 1 }

    /// The columns of standard output; nil where it is not a terminal.
    static var columns: Int? {
        var size = winsize()
        guard isatty(1) == 1, ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Asks a question on standard error; anything but yes is no.
    static func ask(_ question: String) -> Bool {
        write(EventText.printable(question) + " [y/N] ")
        return ["y", "yes"].contains((readLine() ?? "").lowercased())
    }

    /// Prints text for a program to standard output, unchanged.
    static func printExactly(_ text: String) throws { try printExactly(Array(text.utf8)) }

    static func printExactly(_ bytes: [UInt8]) throws {
        let code = LineWriter.writeAll(bytes, to: STDOUT_FILENO)
        // The reader, such as head, wants no more.
        if ![0, EPIPE].contains(code) { throw FileSystemError(.write, path: "standard output", code: code) }
    }

    static func printJSON(_ value: some Encodable) throws { try printExactly(try StableJSON.encode(value)) }

    /// The view of a run's progress.
    static func view(json: Bool, quiet: Bool) -> any ProgressView {
        if json { return JSONLinesView() }
        if quiet { return PlainLinesView(onlyFailures: true) }
        // A log file or a pipe gets whole lines: a bar that overwrites itself would fill it with control sequences.
        guard isInteractive else { return PlainLinesView() }
        return BarView(colour: (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty)
    }

    /// A table with aligned columns.
    static func table(_ rows: [[String]]) -> String {
        let widths = rows.reduce([]) { Self.widths(of: $1, atLeast: $0) }
        return rows.map { line($0, widths) }.joined(separator: "\n")
    }

    /// The widths of columns that hold a row too.
    static func widths(of row: [String], atLeast widths: [Int]) -> [Int] {
        (0..<max(row.count, widths.count)).map { column in
            max(column < row.count ? row[column].count : 0, column < widths.count ? widths[column] : 0)
        }
    }

    /// A text in lines of at most that many columns, cut between words; later lines begin with the indent. Nil is any number.
    static func wrapped(_ text: String, columns: Int?, indent: String = "") -> String {
        guard let columns else { return text }
        var lines: [String] = []
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var line: String?
            for word in paragraph.split(separator: " ", omittingEmptySubsequences: false) {
                guard let begun = line else {
                    line = String(word)
                    continue
                }
                // An indent alone is not ended, or a word longer than the line would leave an empty line before it.
                if begun.count + 1 + word.count > columns, begun.contains(where: { $0 != " " }) {
                    lines.append(begun)
                    line = indent + word
                } else {
                    line = begun + " " + word
                }
            }
            lines.append(line ?? "")
        }
        return lines.joined(separator: "\n")
    }

    /// A row of a table with aligned columns.
    static func line(_ row: [String], _ widths: [Int]) -> String {
        row.enumerated().map { column, cell in
            // The last cell is not padded: lines have no spaces at their end, and long remarks widen no other line.
            column == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[column] - cell.count)
        }.joined(separator: "  ")
    }
}

/// A progress count on one line of the terminal. Shows nothing in the first second.
final class TerminalCounter: Sendable {
    private let what: String
    private let time: any TimeSource
    private let start: Duration
    private let shown = Mutex<Duration?>(nil)

    init(_ what: String, time: any TimeSource) {
        self.what = what
        self.time = time
        start = time.monotonic
    }

    func show(_ done: Int, of all: Int) {
        let now = time.monotonic
        // What ends within a second needs no count, which would only flicker.
        guard now - start > .seconds(1) else { return }
        // Five times a second at most, from whichever thread: writing to a terminal is slow.
        let isDue = shown.withLock { last in
            guard last.map({ now - $0 > .milliseconds(200) }) ?? true else { return false }
            last = now
            return true
        }
        if isDue { Terminal.write("\r\u{1B}[K\(done) of \(all) \(what)") }
    }

    /// Removes the line, so that what is printed next begins at its start.
    func clear() {
        if shown.withLock({ $0 != nil }) { Terminal.write("\r\u{1B}[K") }
    }
}
