import Foundation
import NocturneSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// Says nothing: `--quiet`.
public struct SilentView: ProgressView {
    public init() {}
    public func show(_ event: BatchEvent, _ status: ProgressStatus) {}
    public func refresh(_ status: ProgressStatus) {}
    public func close() {}
}

/// Events as JSON lines on standard output: `--json`.
public struct JSONLinesView: ProgressView {
    public init() {}
    public func show(_ event: BatchEvent, _ status: ProgressStatus) {
        guard let line = try? StableJSON.encodeLine(event) else { return }
        try? FileHandle.standardOutput.write(contentsOf: Data(line))
    }
    public func refresh(_ status: ProgressStatus) {}
    public func close() {}
}

/// One plain line an item on standard error: for files and pipes, never a control character.
public struct PlainLinesView: ProgressView {
    public init() {}

    public func show(_ event: BatchEvent, _ status: ProgressStatus) {
        guard let text = EventText.line(event, status) else { return }
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
    public func refresh(_ status: ProgressStatus) {}
    public func close() {}
}

/// Lines as above, and under them one line that is drawn anew: for terminals.
public final class BarView: ProgressView {
    private let colour: Bool
    private let drawn = Mutex<Bool>(false)

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
        let width = 24
        let inFlight = status.running.reduce(0.0) { $0 + $1.share }
        let share = min(1, (Double(status.done) + inFlight) / Double(status.total))
        let filled = Int(share * Double(width))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        var text = "\(bar) \(status.done)/\(status.total)"
        if status.failed > 0 { text += ", \(status.failed) failed" }
        if let eta = status.etaSeconds { text += ", about \(EventText.duration(eta)) left" }
        if let first = status.running.first { text += "  \(first.name) \(Int(first.share * 100)) %" }
        write(erase() + String(text.prefix(110)))
        drawn.withLock { $0 = true }
    }

    public func close() { write(erase()) }

    private func erase() -> String {
        drawn.withLock { drawn in
            defer { drawn = false }
            return drawn ? "\r\u{1B}[2K" : ""
        }
    }

    private func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
}

/// The plain words for an event.
public enum EventText {
    public static func line(_ event: BatchEvent, _ status: ProgressStatus) -> String? {
        words(for: event, status).map(printable)
    }

    /// Without what a terminal would obey: names of files may hold it.
    public static func printable(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        shown.append(
            contentsOf: text.unicodeScalars.lazy.map { scalar in
                scalar.properties.generalCategory == .control && scalar != "\n" ? "\u{FFFD}" : scalar
            }
        )
        return String(shown)
    }

    private static func words(for event: BatchEvent, _ status: ProgressStatus) -> String? {
        let item = event.item ?? ""
        let reason = event.reason.map { ": \($0)" } ?? ""
        let count = "[\(status.done)/\(status.total)]"
        switch event.event {
        case .itemCompleted: return "\(count) \(item) completed in \(duration(event.seconds ?? 0))"
        case .itemFailed: return "\(count) \(item) FAILED\(reason)"
        case .itemQuarantined: return "\(item) quarantined\(reason)"
        case .itemInterrupted: return "\(item) stopped, to be resumed"
        case .itemCancelled: return "\(count) \(item) cancelled\(reason)"
        case .itemRetried: return "\(item) will be tried again\(reason)"
        case .itemSkipped: return "\(item) skipped\(reason)"
        case .note: return event.reason
        case .pressure: return "memory\(reason)"
        case .disk: return "disk\(reason)"
        case .heartbeat:
            let eta = status.etaSeconds.map { ", about \(duration($0)) left" } ?? ""
            let running = status.running.map { "\($0.name) \(Int($0.share * 100)) %" }.joined(separator: ", ")
            return "\(count) working\(eta)\(running.isEmpty ? "" : ": \(running)")"
        case .itemStarted, .batchStarted, .batchFinished: return nil
        }
    }

    /// Seconds in words: tenths below ten, then seconds, minutes, hours.
    public static func duration(_ seconds: Double) -> String {
        if seconds < 10 { return "\((seconds * 10).rounded() / 10) s" }
        if seconds < 120 { return "\(Int(seconds.rounded())) s" }
        if seconds < 7200 { return "\(Int((seconds / 60).rounded())) min" }
        return "\((seconds / 360).rounded() / 10) h"
    }
}
