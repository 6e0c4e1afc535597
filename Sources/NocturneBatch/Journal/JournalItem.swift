/// One item as the journal knows it.
public struct JournalItem: Sendable {
    public var id: Int64
    public var key: String
    public var name: String
    public var path: String
    public var fingerprint: String
    public var state: ItemState
    public var reason: String?
    /// How often the engine died with this item in flight.
    public var deaths: Int
    public var notes: [String]
    /// When its state last changed; nil for never.
    public var changed: String?
    /// Whether it is a picture, of which a review queue shows the parts.
    public var isPhoto: Bool { key.hasPrefix(DiscoveredItem.photoKeyPrefix) }

    package init(
        id: Int64,
        key: String,
        name: String,
        path: String,
        fingerprint: String,
        state: ItemState,
        reason: String?,
        deaths: Int,
        notes: [String],
        changed: String? = nil
    ) {
        self.id = id
        self.key = key
        self.name = name
        self.path = path
        self.fingerprint = fingerprint
        self.state = state
        self.reason = reason
        self.deaths = deaths
        self.notes = notes
        self.changed = changed
    }
}

/// A row to be written by ``Journal/record(_:)``.
public struct JournalEntry: Sendable {
    public var item: DiscoveredItem
    public var name: String
    public var state: ItemState
    public var reason: String?
    public var deaths: Int

    public init(item: DiscoveredItem, name: String, state: ItemState, reason: String?, deaths: Int = 0) {
        self.item = item
        self.name = name
        self.state = state
        self.reason = reason
        self.deaths = deaths
    }
}
