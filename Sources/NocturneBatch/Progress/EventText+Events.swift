import NocturneJournal
public import NocturneOutput

/// An event as a line of text.
extension EventText {
    /// - Returns: nil for an event that terminals do not show. Control characters of names are replaced.
    public static func line(_ event: BatchEvent, _ status: ProgressStatus) -> String? {
        text(for: event, status).map(printable)
    }

    private static func text(for event: BatchEvent, _ status: ProgressStatus) -> String? {
        let item = (event.item ?? "") + (event.path.map { " (\($0))" } ?? "")
        let reason = event.reason.map { ": \($0)" } ?? ""
        let count = "[\(status.done)/\(status.total)]"
        switch event.event {
        case .itemCompleted:
            let objects = event.objects.map { ": \(self.objects($0))" } ?? ""
            return "\(count) \(item) completed in \(duration(event.seconds ?? 0))\(objects)\(reason)"
        case .itemFailed: return "\(count) \(item) FAILED\(reason)"
        case .itemQuarantined: return "\(item) quarantined\(reason)"
        // At the end of a run, the summary counts what was stopped.
        case .itemInterrupted: return event.reason == "interrupted" ? nil : "\(item) stopped\(reason)"
        case .itemCancelled: return "\(count) \(item) cancelled\(reason)"
        case .itemRetried: return "\(item) will be tried again\(reason)"
        case .note: return event.reason
        case .pressure: return "memory\(reason)"
        case .disk: return "The disk\(event.reason.map { " \($0)" } ?? "")"
        case .paused:
            return "paused" + (event.reason.map { " \($0)" } ?? "") + (event.remedy.map { "; \($0)" } ?? "")
        case .continued: return "continued\(reason)"
        case .heartbeat:
            let eta = status.etaSeconds.map { ", about \(duration($0)) left" } ?? ""
            let running = status.running.map { "\($0.item) \(Int($0.share * 100)) %" }.joined(separator: ", ")
            let isIdle = status.isWaiting && status.running.isEmpty
            let action = status.pause != nil ? "paused" : isIdle ? "waiting" : "working"
            return "\(count) \(action)\(eta)\(running.isEmpty ? "" : ": \(running)")"
        // Inputs that are skipped before the run are counted by their reasons: ``StartText/skips(_:)``.
        case .itemSkipped: return event.stage == ItemReason.discovery ? nil : "\(count) \(item) skipped\(reason)"
        case .itemStarted, .batchStarted, .batchFinished: return nil
        }
    }
}
