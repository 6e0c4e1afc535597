/// What a person says about a result.
public enum ReviewVerdict: String, Sendable, Codable, CaseIterable {
    case pass
    case fail
    case questionable
}

extension [ReviewMark] {
    /// Those about the results that the items have now: a result that has changed since has lost its marks.
    public func current(for items: some Sequence<JournalItem>) -> [ReviewMark] {
        let items = items.named(Set(map(\.item)))
        return filter { items[$0.item]?.fingerprint == $0.fingerprint }
    }
}

/// The mark that one person gave one result, or one object in a photo.
public struct ReviewMark: Sendable, Codable, Hashable {
    /// The name of the item's folder.
    public var item: String
    /// The fingerprint of the result that was looked at. A mark of another result does not count.
    public var fingerprint: String
    /// The number of the object in the photo; nil for the item as a whole.
    public var object: String?
    public var rater: String
    public var verdict: ReviewVerdict
    public var comment: String
    /// UTC, RFC 3339.
    public var time: String

    public init(
        item: String,
        fingerprint: String,
        object: String? = nil,
        rater: String,
        verdict: ReviewVerdict,
        comment: String = "",
        time: String
    ) {
        self.item = item
        self.fingerprint = fingerprint
        self.object = object
        self.rater = rater
        self.verdict = verdict
        self.comment = comment
        self.time = time
    }
}
