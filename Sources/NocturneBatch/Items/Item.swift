import NocturneCore
public import NocturneJournal
public import NocturneSystem

/// One unit of work, as discovery found it: a volume or photo, with one model.
///
/// Copies share their properties until one is changed, since there may be a million items, and they stand in several lists.
@dynamicMemberLookup
public struct DiscoveredItem: Sendable {
    /// The prefix of the keys of folders that could not be read.
    public static let missedKeyPrefix = "missed:"
    /// The prefix of the keys of single files that belong to no item.
    public static let fileKeyPrefix = "file:"

    @SharedValue private var properties: Properties

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
        properties = Properties(
            key: key,
            name: name,
            model: model,
            source: source,
            path: path,
            fingerprint: fingerprint,
            inputs: inputs,
            problem: problem
        )
    }

    public subscript<Value>(dynamicMember property: WritableKeyPath<Properties, Value>) -> Value {
        get { properties[keyPath: property] }
        set { properties[keyPath: property] = newValue }
    }
}

extension DiscoveredItem {
    /// What is known of an item.
    public struct Properties: Sendable {
        /// Names the source within the batch, the same in every run and for every model: what the journal knows the item by,
        /// together with the model where there are several for it.
        public var key: String
        /// The preferred name of the folder; made unique by the planner: see ``ItemNames``.
        public var name: String
        /// What ``name`` ends with besides the name of the file or folder: which of its volumes it is, and the model.
        public var suffix = ""
        /// The id of the model that is to process it.
        public var model: String
        /// What the recipe needs to find the source again, in a form of its own. Kept compressed: each use takes some 0.1 ms
        /// for a series of hundreds of files.
        public var source: String {
            get { compressedSource.text }
            set { compressedSource = CompressedText(newValue) }
        }
        private var compressedSource: CompressedText
        /// The input as the user knows it: written to `retry.txt`, and to messages.
        public var path: String
        /// Source files, model and every option that can change a result.
        public var fingerprint: ContentDigest
        /// The source files. When one of them changes later, the item is processed again.
        public var inputs: [InputStamp] {
            get { packedInputs.stamps }
            set { packedInputs = PackedStamps(newValue) }
        }
        /// ``inputs`` as they are kept.
        package var packedInputs: PackedStamps
        /// Why it cannot be processed; nil for a good item.
        public var problem: ItemProblem?
        /// Words of its paths by which its patient can be identified, as ``PathWords`` compares them: the journal keeps them,
        /// results do not show them.
        public var words: [String] = []
        /// The index of the recipe that found it, among the batch's recipes.
        package var recipe = 0

        init(
            key: String,
            name: String,
            model: String,
            source: String,
            path: String,
            fingerprint: ContentDigest,
            inputs: [InputStamp],
            problem: ItemProblem?
        ) {
            self.key = key
            self.name = name
            self.model = model
            compressedSource = CompressedText(source)
            self.path = path
            self.fingerprint = fingerprint
            packedInputs = PackedStamps(inputs)
            self.problem = problem
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

/// What the walk over the inputs found.
public struct Discovery: Sendable {
    public var items: [DiscoveredItem]
    /// Remarks that are not about a single item.
    public var notes: [String]
    /// What identifies patients in the paths of all files.
    public var patients: PatientFolders

    public init(items: [DiscoveredItem] = [], notes: [String] = [], patients: PatientFolders = PatientFolders()) {
        self.items = items
        self.notes = notes
        self.patients = patients
    }
}
