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
    /// By which a reader decides what the other members mean.
    public var event: Kind
    /// The name of the item; nil for an event of the whole batch.
    public var item: String?
    /// For a person; scripts read ``code``.
    public var reason: String?
    /// Of an item that did not complete, or is tried again: see ``ItemReason``. A pause has a remedy, too.
    public var code: String?
    /// The stage in which the item was when it failed.
    public var stage: String?
    /// What a user can do, by ``code``.
    public var remedy: String?
    /// How long the item was active.
    public var seconds: Double?
    /// How many objects of each class were found in a photo; nil for other results and for none.
    public var objects: [String: Int]?
    /// Items of the batch that have ended, in any state.
    public var done: Int?
    /// Items of the batch.
    public var total: Int?
    /// Those of ``done`` that did not complete because of a fault.
    public var failed: Int?
    /// Resident memory of the engine.
    public var residentBytes: Int?
    /// Memory that active items have leased from the budget.
    public var leasedBytes: Int?
    /// Of a heartbeat: since the one before; nil where no network runs on a device.
    public var device: DeviceUse?
    /// Predicted until the end of the run; nil before there is anything to predict it from.
    public var etaSeconds: Double?
    /// When a pause ends by itself, UTC.
    public var until: String?
    /// Of an item that has ended, by stage: when it was begun and ended, in seconds since the item was started.
    public var stages: [String: [Double]]?

    /// Of the input, where the item's name does not show which one it is. For terminals only.
    package var path: String?
    /// Whether --quiet shows it: why a run stops. For terminals only.
    package var isUrgent = false

    /// All but ``path`` and ``isUrgent``.
    private enum CodingKeys: String, CodingKey {
        case time, event, item, reason, code, stage, remedy, seconds, objects, done, total, failed, residentBytes,
            leasedBytes, device, etaSeconds, until, stages
    }

    /// - Parameters:
    ///   - event: what happened.
    ///   - item: the name of the item; nil for an event of the whole batch.
    ///   - reason: for a person.
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
                let isControl = scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
                return isControl && scalar != "\n" ? "\u{FFFD}" : scalar
            }
        )
        return String(shown)
    }

    /// The text in one line: line feeds in names of files are replaced too.
    public static func oneLine(_ text: String) -> String { printable(text).replacing("\n", with: "\u{FFFD}") }

    /// `5 × book, 1 × box`: how many there are of each class, in alphabetical order.
    public static func objects(_ counts: [String: Int]) -> String {
        counts.sorted { $0.key < $1.key }.map { "\($1) × \($0)" }.joined(separator: ", ")
    }

    /// Seconds as text: tenths below ten, then seconds, minutes, hours.
    public static func duration(_ seconds: Double) -> String {
        if seconds < 10 { return "\((seconds * 10).rounded() / 10) s" }
        if seconds < 120 { return "\(Int(seconds.rounded())) s" }
        if seconds < 7200 { return "\(Int((seconds / 60).rounded())) min" }
        return "\((seconds / 360).rounded() / 10) h"
    }
}
