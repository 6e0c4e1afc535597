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
        remedy = reason.map { Remedies.remedy(for: $0.code) }
    }
}
