public import NocturneSystem

/// One item as the journal has it.
///
/// Its texts are one buffer of some 200 bytes, since there may be a million items: each is decoded when it is read.
public struct JournalItem: Sendable, Hashable {
    public var id: Int64
    public var state: ItemState
    /// How often the engine crashed while this item was active.
    public var crashes: Int
    private var fields: PackedFields

    /// The places of the fields.
    private enum Field {
        static let (path, key, name, fingerprint) = (0, 1, 2, 3)
        static let (model, changed, reason, notes, words) = (4, 5, 6, 7, 8)
    }

    package init(
        id: Int64,
        key: String,
        name: String,
        path: String,
        fingerprint: String,
        state: ItemState,
        reason: ItemReason?,
        crashes: Int,
        notes: [String],
        changed: String? = nil,
        model: String = "",
        words: [String] = []
    ) {
        (self.id, self.state, self.crashes) = (id, state, crashes)
        fields = PackedFields([
            Array(path.utf8), PackedFields.bytes(key, beside: path), Array(name.utf8),
            Self.packed(fingerprint: fingerprint), Array(model.utf8),
            Array(PackedFields(list: changed.map { [$0] } ?? []).packed), Array(reason?.packed.packed ?? []),
            Array(PackedFields(list: notes).packed), Array(PackedFields(list: words).packed),
        ])
    }

    public var path: String { fields[text: Field.path] }
    public var key: String { fields[text: Field.key, beside: path] }
    public var name: String { fields[text: Field.name] }

    /// Hexadecimal digits.
    public var fingerprint: String {
        get {
            let field = fields[Field.fingerprint]
            guard field.first == 1 else { return String(decoding: field.dropFirst(), as: UTF8.self) }
            return ContentDigest(bytes: field.dropFirst()).hex
        }
        set { fields[Field.fingerprint] = Self.packed(fingerprint: newValue)[...] }
    }

    public var reason: ItemReason? {
        get { ItemReason(packed: fields[list: Field.reason]) }
        set { fields[Field.reason] = newValue?.packed.packed ?? [] }
    }

    public var notes: [String] {
        get { fields[list: Field.notes] }
        set { fields[list: Field.notes] = newValue }
    }

    /// When its state last changed, UTC; nil for never.
    public var changed: String? {
        get { fields[list: Field.changed].first }
        set { fields[list: Field.changed] = newValue.map { [$0] } ?? [] }
    }

    /// The id of the model that processes it; empty without one, and in batches of 0.1.0.
    public var model: String { fields[text: Field.model] }

    /// Words of its paths that results do not show, since they identify the patient.
    public var words: [String] { fields[list: Field.words] }

    /// 64 digits are 32 bytes.
    private static func packed(fingerprint: String) -> [UInt8] {
        guard let digest = ContentDigest(hex: fingerprint), digest.hex == fingerprint else {
            return [0] + fingerprint.utf8
        }
        return [1] + digest.bytes
    }
}

extension JournalItem: ByteRepresentable {
    public init(bytes: [UInt8]) {
        var rest = bytes[...]
        id = Int64(bitPattern: rest.popNumber() ?? 0)
        crashes = Int(truncatingIfNeeded: rest.popNumber() ?? 0)
        state = ItemState.allCases[Int(rest.popNumber() ?? 0)]
        fields = PackedFields(packed: rest)
    }

    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        // A damaged journal may have any number.
        bytes.append(number: UInt64(bitPattern: id))
        bytes.append(number: UInt64(truncatingIfNeeded: crashes))
        bytes.append(number: UInt64(ItemState.allCases.firstIndex(of: state) ?? 0))
        return bytes + fields.packed
    }
}

extension Sequence<JournalItem> {
    /// Those of some names that items have, by name.
    package func named(_ names: Set<String>) -> [String: JournalItem] {
        guard !names.isEmpty else { return [:] }
        return Dictionary(lazy.filter { names.contains($0.name) }.map { ($0.name, $0) }) { first, _ in first }
    }
}

/// A row to be written by ``Journal/record(_:)``.
public struct JournalEntry: Sendable, Hashable {
    /// Identifies the source, and the model where several work on it: the same in every run.
    public var key: String
    /// The folder of the item in the output.
    public var name: String
    /// The id of the model that is to process it; empty for none.
    public var model: String
    /// What the recipe needs to find the source again, in a form of its own.
    public var source: String
    /// The input as the user knows it.
    public var path: String
    /// Hexadecimal digits.
    public var fingerprint: String
    public var state: ItemState
    public var reason: ItemReason?
    /// How often the engine crashed while this item was active.
    public var crashes: Int
    /// Words of its paths that results do not show, since they identify the patient: of letters and digits.
    public var words: [String]

    public init(
        key: String,
        name: String,
        model: String = "",
        source: String,
        path: String,
        fingerprint: String,
        state: ItemState,
        reason: ItemReason? = nil,
        crashes: Int = 0,
        words: [String] = []
    ) {
        self.key = key
        self.name = name
        self.model = model
        self.source = source
        self.path = path
        self.fingerprint = fingerprint
        self.state = state
        self.reason = reason
        self.crashes = crashes
        self.words = words
    }
}
