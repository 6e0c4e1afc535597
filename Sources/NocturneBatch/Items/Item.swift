import NocturneCore
public import NocturneJournal
public import NocturneSystem

/// One unit of work, as discovery found it: a volume or photo, with one model.
///
/// It is one buffer of some 200 bytes, since there may be a million items, and they stand in several lists: each property is
/// decoded when it is read, and the buffer copied when one is set.
@dynamicMemberLookup
public struct DiscoveredItem: Sendable {
    /// The prefix of the keys of folders that could not be read.
    public static let missedKeyPrefix = "missed:"
    /// The prefix of the keys of single files that belong to no item.
    public static let fileKeyPrefix = "file:"

    private var properties: Properties

    public init(
        key: String,
        name: String,
        model: String,
        source: String,
        path: String,
        fingerprint: ContentDigest,
        inputs: [InputStamp] = [],
        problem: ItemProblem? = nil
    ) {
        let fields: [[UInt8]] = [
            Array(path.utf8), Array(model.utf8), PackedFields.bytes(key, beside: path), Array(name.utf8), [],
            fingerprint.bytes, PackedSource.bytes(source, path: path, model: model),
            Properties.bytes(PackedStamps(inputs), path: path), problem?.packed ?? [], [], [],
        ]
        properties = Properties(fields: PackedFields(fields))
    }

    public subscript<Value>(dynamicMember property: KeyPath<Properties, Value>) -> Value {
        properties[keyPath: property]
    }

    public subscript<Value>(dynamicMember property: WritableKeyPath<Properties, Value>) -> Value {
        get { properties[keyPath: property] }
        set { properties[keyPath: property] = newValue }
    }
}

extension DiscoveredItem: ByteRepresentable {
    public init(bytes: [UInt8]) { properties = Properties(fields: PackedFields(packed: bytes[...])) }

    public var bytes: [UInt8] { Array(properties.fields.packed) }
}

extension DiscoveredItem {
    /// What is known of an item.
    public struct Properties: Sendable {
        fileprivate var fields: PackedFields

        /// The places of the fields.
        private enum Field {
            static let (path, model, key, name, suffix) = (0, 1, 2, 3, 4)
            static let (fingerprint, source, inputs, problem, words, recipe) = (5, 6, 7, 8, 9, 10)
        }

        fileprivate init(fields: PackedFields) { self.fields = fields }

        /// The input as the user knows it: written to `retry.txt`, and to messages.
        public var path: String { fields[text: Field.path] }
        /// The id of the model that is to process it.
        public var model: String { fields[text: Field.model] }
        /// Names the source within the batch, the same in every run and for every model: what the journal knows the item by,
        /// together with the model where there are several for it.
        public var key: String {
            get { fields[text: Field.key, beside: path] }
            set { fields[text: Field.key, beside: path] = newValue }
        }
        /// The preferred name of the folder; made unique by the planner: see ``ItemNames``.
        public var name: String {
            get { fields[text: Field.name] }
            set { fields[text: Field.name] = newValue }
        }
        /// What ``name`` ends with besides the name of the file or folder: which of its volumes it is, and the model.
        public var suffix: String {
            get { fields[text: Field.suffix] }
            set { fields[text: Field.suffix] = newValue }
        }
        /// What the recipe needs to find the source again, in a form of its own. Kept compressed: each use takes a
        /// microsecond, or some 0.1 ms for a series of hundreds of files.
        public var source: String {
            get { PackedSource.text(fields[Field.source], path: path) }
            set { fields[Field.source] = PackedSource.bytes(newValue, path: path, model: model)[...] }
        }
        /// Source files, model and every option that can change a result.
        public var fingerprint: ContentDigest {
            get { ContentDigest(bytes: fields[Field.fingerprint]) }
            set { fields[Field.fingerprint] = newValue.bytes[...] }
        }
        /// The source files. When one of them changes later, the item is processed again.
        public var inputs: [InputStamp] {
            get { packedInputs.stamps }
            set { packedInputs = PackedStamps(newValue) }
        }
        /// ``inputs`` as they are kept elsewhere.
        package var packedInputs: PackedStamps {
            get {
                let field = fields[Field.inputs]
                guard field.first != 1 else { return PackedStamps(field.dropFirst(), path: path) }
                return PackedStamps(bytes: Array(field.dropFirst()))
            }
            set { fields[Field.inputs] = Self.bytes(newValue, path: path)[...] }
        }
        /// Most items have one file, which is their path.
        fileprivate static func bytes(_ stamps: PackedStamps, path: String) -> [UInt8] {
            guard let short = stamps.bytes(withoutPath: path) else { return [0] + stamps.bytes }
            return [1] + short
        }

        /// Why it cannot be processed; nil for a good item.
        public var problem: ItemProblem? {
            get { ItemProblem(packed: fields[Field.problem]) }
            set { fields[Field.problem] = (newValue?.packed ?? [])[...] }
        }
        /// Words of its paths by which its patient can be identified, as ``PathWords`` compares them: the journal keeps them,
        /// results do not show them.
        public var words: [String] {
            get { fields[list: Field.words] }
            set { fields[list: Field.words] = newValue }
        }
        /// The index of the recipe that found it, among the batch's recipes.
        package var recipe: Int {
            get {
                var field = fields[Field.recipe]
                return field.popNumber().map { Int($0) } ?? 0
            }
            set {
                var field: [UInt8] = []
                field.append(number: UInt64(newValue))
                fields[Field.recipe] = field[...]
            }
        }
    }
}

/// Why an item cannot be processed, known before it is admitted.
public enum ItemProblem: Sendable, Hashable {
    /// It should have been an input, but is damaged or unsuitable.
    case refused(ItemReason)
    /// It is not an input for this model.
    case setAside(ItemReason)
    /// This recipe does not read such files; another one may.
    case unknown(ItemReason)

    package var reason: ItemReason {
        switch self {
        case .refused(let reason), .setAside(let reason), .unknown(let reason): reason
        }
    }
}

extension ItemProblem {
    /// Its kind, and its reason.
    package var packed: [UInt8] {
        let kind: UInt8 =
            switch self {
            case .refused: 1
            case .setAside: 2
            case .unknown: 3
            }
        return [kind] + reason.packed.packed
    }

    package init?(packed: ArraySlice<UInt8>) {
        guard let kind = packed.first, let reason = ItemReason(packed: PackedFields(packed: packed.dropFirst()).texts)
        else { return nil }
        self = kind == 1 ? .refused(reason) : kind == 2 ? .setAside(reason) : .unknown(reason)
    }
}

/// What the walk over the inputs found.
public struct Discovery: Sendable {
    public var items: FileBackedList<DiscoveredItem>
    /// Remarks that are not about a single item.
    public var notes: [String]
    /// What identifies patients in the paths of all files.
    public var patients: PatientFolders

    public init(
        items: some Sequence<DiscoveredItem> = [],
        notes: [String] = [],
        patients: PatientFolders = PatientFolders()
    ) {
        self.items = items as? FileBackedList<DiscoveredItem> ?? FileBackedList(items)
        self.notes = notes
        self.patients = patients
    }
}
