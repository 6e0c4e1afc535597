package import NocturneJournal
import NocturneSystem

/// One line of `events.jsonl`, and what the progress views draw from.
public struct BatchEvent: Sendable, Codable {
    /// What happened.
    public enum Kind: String, Sendable, Codable {
        case batchStarted, batchFinished, note
        case itemStarted, itemCompleted, itemFailed, itemInterrupted, itemSkipped, itemQuarantined,
            itemRetried
        case itemCancelled
        /// The disk is full, or has free space again.
        case disk
        case pressure, heartbeat
        /// A pause has begun, with its times as the reason, or ended.
        case paused, continued
    }

    /// UTC; set by the reporter.
    public package(set) var time = ""
    public var event: Kind
    public var item: String?
    public var reason: String?
    /// Of an item that did not complete, or is tried again: see ``ItemReason``. A pause has a remedy, too.
    public var code: String?
    public var stage: String?
    public var remedy: String?
    public var seconds: Double?
    public var done: Int?
    public var total: Int?
    public var failed: Int?
    public var residentBytes: Int?
    public var leasedBytes: Int?
    public var etaSeconds: Double?
    /// When a pause ends by itself, UTC.
    public var until: String?
    /// Of an item that has ended, by stage: when it was begun and ended, in seconds since the item was started.
    public var stages: [String: [Double]]?

    package init(_ event: Kind, item: String? = nil, reason: String? = nil) {
        (self.event, self.item, self.reason) = (event, item, reason)
    }

    /// About an item, for a reason.
    package init(_ event: Kind, item: String?, because reason: ItemReason?) {
        self.init(event, item: item, reason: reason?.text)
        code = reason?.code.rawValue
        stage = reason?.stage
        remedy = reason.map { $0.code.remedy }
    }
}

/// Texts about a batch for terminals and reports.
public enum EventText {
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

    /// Seconds as text: tenths below ten, then seconds, minutes, hours.
    public static func duration(_ seconds: Double) -> String {
        if seconds < 10 { return "\((seconds * 10).rounded() / 10) s" }
        if seconds < 120 { return "\(Int(seconds.rounded())) s" }
        if seconds < 7200 { return "\(Int((seconds / 60).rounded())) min" }
        return "\((seconds / 360).rounded() / 10) h"
    }
}
