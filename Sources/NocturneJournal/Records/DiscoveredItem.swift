public import NocturneSystem

/// One unit of work, as the search of the inputs found it: a volume, case or photo, with one model.
public struct DiscoveredItem: Sendable, Hashable {
    /// The prefix of the keys of folders that could not be read.
    public static let missedKeyPrefix = "missed:"
    /// The prefix of the keys of single files that belong to no item.
    public static let fileKeyPrefix = "file:"

    /// Names the source within the batch, the same in every run and for every model: what the journal knows the item by,
    /// together with the model where there are several for it.
    public var key: String
    /// The preferred name of the folder; made unique before it is recorded.
    public var name: String
    /// What ``name`` ends with besides the name of the file or folder: which of its volumes it is, and the model.
    public var suffix = ""
    /// What the header of a DICOM series names it by, as results show it: for ``name`` alone, and not recorded.
    public var headerNames: [HeaderName: String] = [:]
    /// The id of the model that is to process it.
    public var model: String
    /// What the recipe needs to find the source again, in a form that the recipe defines.
    public var source = "{}"
    /// The input as the user knows it: written to `retry.txt`, and to messages.
    public var path: String
    /// Of source files, model and every option that can change a result.
    public var fingerprint: ContentDigest
    /// The source files. When one of them changes later, the item is processed again.
    public var inputs: [InputStamp]
    /// Why it cannot be processed; nil for a good item.
    public var problem: ItemProblem?
    /// Words of its paths by which its patient can be identified: the journal keeps them, results do not show them.
    public var words: [String] = []
    /// The index of the recipe that found it, among the batch's recipes.
    public var recipe = 0
    /// Items of a recipe are in ascending order of their ranks: one for each of its models, and then one for what is not an
    /// input.
    public var rank = 0
    /// Items of one rank are in the order of these texts; those with equal ones in the order in which they were found.
    public var order = ""

    /// About what its source and stamps take in memory: 128 bytes for a stamp without its path. A series has thousands of them.
    package var bytes: Int { source.utf8.count + 128 * inputs.count }

    /// PatientID (0010,0020), StudyInstanceUID (0020,000D) and SeriesInstanceUID (0020,000E).
    public enum HeaderName: String, Sendable, Hashable {
        case patient, study, series
    }

    /// - Parameters:
    ///   - key: names the source within the batch, the same in every run.
    ///   - name: the preferred name of the folder, which need not be unique yet.
    ///   - model: the id of the model that is to process it.
    ///   - path: the input as the user knows it.
    ///   - fingerprint: of source files, model and options.
    ///   - inputs: the source files, with sizes and times.
    public init(
        key: String,
        name: String,
        model: String,
        path: String,
        fingerprint: ContentDigest,
        inputs: [InputStamp] = []
    ) {
        (self.key, self.name, self.model) = (key, name, model)
        (self.path, self.fingerprint, self.inputs) = (path, fingerprint, inputs)
    }
}

/// What the journal has of an item since it was discovered: all that is needed to process it.
public struct DiscoveredSource: Sendable {
    /// In the recipe's form.
    public let source: String
    /// The input as the user knows it.
    public let path: String
    /// 64 hexadecimal digits.
    public let fingerprint: String
    /// The source files as they were found.
    public let inputs: [InputStamp]
}

extension DiscoveredSource {
    /// What the journal will have of an item.
    package init(_ item: DiscoveredItem) {
        self.init(source: item.source, path: item.path, fingerprint: item.fingerprint.hex, inputs: item.inputs)
    }
}

/// Why an item cannot be processed, known before it is admitted.
public enum ItemProblem: Error, Hashable {
    /// It should have been an input, but is damaged or unsuitable.
    case refused(ItemReason)
    /// It is not an input for this model, or for any.
    case setAside(ItemReason)

    /// Whichever of both it is.
    package var reason: ItemReason {
        switch self {
        case .refused(let reason), .setAside(let reason): reason
        }
    }

    /// In the column `problem`.
    var kind: String {
        switch self {
        case .refused: "refused"
        case .setAside: "setAside"
        }
    }

    /// - Parameter kind: the text of ``kind``; nil for no problem.
    init?(kind: String?, _ reason: ItemReason?) {
        guard let reason else { return nil }
        switch kind {
        case "refused": self = .refused(reason)
        case "setAside": self = .setAside(reason)
        default: return nil
        }
    }
}
