/// What another tool has read on one object in a photo, such as a book.
public struct ObjectText: Sendable, Hashable {
    /// The name of the item's folder.
    public var item: String
    /// The fingerprint of the result that has the object. A text of another result does not count.
    public var fingerprint: String
    /// The object's number.
    public var object: Int
    public var title: String?
    public var author: String?

    public init(item: String, fingerprint: String, object: Int, title: String?, author: String?) {
        self.item = item
        self.fingerprint = fingerprint
        self.object = object
        self.title = title
        self.author = author
    }
}

extension ItemPart {
    /// The part with its texts; one that has waited for them is ready.
    public func with(_ text: ObjectText) -> ItemPart {
        var part = self
        (part.title, part.author) = (text.title, text.author)
        if part.state == .enriching { part.state = .ready }
        return part
    }
}

extension [ObjectText] {
    /// Those of the results that the items have now, by the id of the item and the number of the object.
    public func current(for items: some Sequence<JournalItem>) -> [Int64: [Int: ObjectText]] {
        let items = items.named(Set(map(\.item)))
        return reduce(into: [:]) { texts, text in
            guard let item = items[text.item], item.fingerprint == text.fingerprint else { return }
            texts[item.id, default: [:]][text.object] = text
        }
    }
}
