public import NocturneSystem

/// The label map of an item as a person has edited it, which takes the place of the model's.
public struct LabelEdit: Sendable, Codable, Hashable {
    /// The name of the item's folder.
    public var item: String
    /// The fingerprint of the model's result whose labels it replaces: of sources, model and options. It follows the options that
    /// do not change the model's labels.
    public var baseFingerprint: String
    /// The name of the person's file.
    public var file: String
    /// The digest of that file.
    public var sha256: String
    /// When it was taken over, UTC, RFC 3339.
    public var time: String

    /// - Parameters:
    ///   - item: the name of the item's folder.
    ///   - baseFingerprint: of the result that was edited, in hexadecimal digits.
    ///   - file: the name of the person's file.
    ///   - sha256: the digest of that file, in hexadecimal digits.
    ///   - time: UTC, RFC 3339.
    public init(item: String, baseFingerprint: String, file: String, sha256: String, time: String) {
        self.item = item
        self.baseFingerprint = baseFingerprint
        self.file = file
        self.sha256 = sha256
        self.time = time
    }

    /// The fingerprint of the result that is made from the edited map.
    public var fingerprint: ContentDigest { ContentDigest.of("edited labels 1\n\(baseFingerprint)\n\(sha256)") }

    /// Whether the item's result was made from it, or is to be.
    package func isInUse(for item: JournalItem) -> Bool {
        [baseFingerprint, fingerprint.hex].contains(item.fingerprint)
    }

    /// The edit for an item as it was found.
    /// - Parameters:
    ///   - found: the fingerprint of the item with the present options; in a shard that of the edited result.
    ///   - keepsLabels: whether the model would give the labels that were edited.
    /// - Returns: nil where the edit does not apply.
    package func applied(to found: ContentDigest, keepsLabels: () -> Bool) -> LabelEdit? {
        if found.hex == baseFingerprint || found == fingerprint { return self }
        guard keepsLabels() else { return nil }
        var edit = self
        edit.baseFingerprint = found.hex
        return edit
    }
}

/// What another tool has read on one object in a photo.
public struct ObjectText: Sendable, Hashable {
    /// The name of the field with the text that a model has read, which is a part of the result.
    public static let recognized = "text"

    /// One of the fields that the recipe names, such as a title.
    public struct Field: Sendable, Hashable, Codable {
        /// As the recipe names it.
        public var name: String
        /// As the tool has read it: not checked, and possibly with names of people.
        public var value: String

        /// A field as it is recorded; names and lengths are checked where the texts are read.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The name of the item's folder.
    public var item: String
    /// The fingerprint of the result that has the object. A text of another result does not count.
    public var fingerprint: String
    /// The object's number.
    public var object: Int
    /// Those that are known, in the recipe's order.
    public var fields: [Field]

    /// - Parameters:
    ///   - item: the name of the item's folder.
    ///   - fingerprint: of the result that has the object, in hexadecimal digits.
    ///   - object: its number in the photo.
    ///   - fields: in the recipe's order.
    public init(item: String, fingerprint: String, object: Int, fields: [Field]) {
        self.item = item
        self.fingerprint = fingerprint
        self.object = object
        self.fields = fields
    }
}

extension ItemPart {
    /// The part with its texts besides the one that a model has read; one that has waited for them is ready.
    public func with(_ text: ObjectText) -> ItemPart {
        var part = self
        part.texts = (texts ?? []).filter { $0.name == ObjectText.recognized } + text.fields
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

/// A person's verdict on a result.
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
    /// The name or abbreviation of the person, as they gave it. A person has one mark for each result.
    public var rater: String
    /// The last one that this person gave.
    public var verdict: ReviewVerdict
    /// Free text; empty for none.
    public var comment = ""
    /// UTC, RFC 3339.
    public var time: String

    /// - Parameters:
    ///   - item: the name of the item's folder.
    ///   - fingerprint: of the result that was looked at, in hexadecimal digits.
    ///   - object: the number of the object in the photo; nil for the item as a whole.
    ///   - rater: who gives the mark.
    ///   - verdict: what they found.
    ///   - time: UTC, RFC 3339.
    public init(
        item: String,
        fingerprint: String,
        object: String? = nil,
        rater: String,
        verdict: ReviewVerdict,
        time: String
    ) {
        self.item = item
        self.fingerprint = fingerprint
        self.object = object
        self.rater = rater
        self.verdict = verdict
        self.time = time
    }
}
