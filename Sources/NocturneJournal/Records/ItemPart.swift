/// A part of an item that is an entry of its own in a review queue: one object on a photo.
public struct ItemPart: Sendable, Hashable, Codable {
    public enum State: String, Sendable, Hashable, Codable {
        /// Found; its files do not exist yet.
        case processing
        /// Its files exist; another tool is to give its title and author.
        case enriching
        case ready
        /// Its files could not be written; the reason says why. The item's other parts are not affected.
        case failed
    }

    /// From 1, in the item's own order.
    public var id: Int
    /// Its class.
    public var kind: String
    public var state: State
    /// Relative to the item's folder; nil unless it was written.
    public var thumbnail: String?
    public var reason: String?
    /// Of a book, once another tool has read them. They are kept apart from the result.
    public var title: String?
    public var author: String?

    public init(id: Int, kind: String, state: State, thumbnail: String?, reason: String? = nil) {
        self.id = id
        self.kind = kind
        self.state = state
        self.thumbnail = thumbnail
        self.reason = reason
    }
}
