public import NocturneSystem

/// How an input ended, or where it stands.
public enum ItemState: String, Sendable, Codable, CaseIterable {
    /// Waiting for its turn; at the end of a run: not reached.
    case pending
    /// Active. Found in the journal at the start of a run, it means that the run before was interrupted.
    case started
    case completed
    case failed
    /// Set aside with a reason: not an input for this model.
    case skipped
    /// Stopped by `nocturne cancel` naming it; stays so until `nocturne resume --failed`.
    case cancelled
    /// The engine crashed twice while this item was active.
    case quarantined
}

/// Why an item was not completed, or from where its result was taken: a sentence for people, and a code for programs.
/// What is decided by a reason is decided by its code.
public struct ItemReason: Sendable, Hashable, CustomStringConvertible {
    /// What is given as the stage of items that never reached the first one.
    public static let discovery = "discover"

    /// For programs: what is decided by the reason is decided by it.
    public var code: FaultCode
    /// For people, with names of files and texts of inputs marked as such.
    public var sentence: Sentence
    /// In which stage it arose; nil for reasons outside the stages, such as a request of the user.
    public var stage: String?

    /// - Parameters:
    ///   - code: the kind of the reason.
    ///   - sentence: the fact and the next step.
    ///   - stage: where it arose; nil outside the stages.
    public init(_ code: FaultCode, _ sentence: Sentence, stage: String? = nil) {
        (self.code, self.sentence, self.stage) = (code, sentence, stage)
    }

    /// - Parameter text: of the system, a library or an input, which may contain names.
    public init(_ code: FaultCode, text: String, stage: String? = nil) {
        self.init(code, Sentence(.input(text)), stage: stage)
    }

    /// What discovery found.
    public static func discovered(_ code: FaultCode, _ sentence: Sentence) -> ItemReason {
        ItemReason(code, sentence, stage: discovery)
    }

    /// - Parameter text: of the system, a library or an input, which may contain names.
    public static func discovered(_ code: FaultCode, text: String) -> ItemReason {
        ItemReason(code, text: text, stage: discovery)
    }

    /// With all names of files and patients.
    public var text: String { sentence.description }
    /// As ``text``.
    public var description: String { text }
}

/// One item as the journal has it.
public struct JournalItem: Sendable, Hashable {
    /// The number of its row: ascending in the order of discovery, after ``Journal/numberAsFound()``.
    public var id: Int64
    /// Identifies the source, and the model where several work on it: the same in every run.
    public var key: String
    /// The folder of the item in the output.
    public var name: String
    /// The input as the user knows it.
    public var path: String
    /// Hexadecimal digits.
    public var fingerprint: String
    /// As it was recorded last: `started` also where the run before was killed.
    public var state: ItemState
    /// Why it is not completed, or from where its result was taken; nil without anything to explain.
    public var reason: ItemReason?
    /// How often the engine crashed while this item was active.
    public var crashes = 0
    /// When its state last changed, UTC; nil for never.
    public var changed: String?
    /// The id of the model that processes it; empty without one.
    public var model = ""
    /// Words of its paths that results do not show, since they identify the patient.
    public var words: [String] = []
    /// Whether its result was taken from another batch.
    public var isReused: Bool { state == .completed && reason?.code == .reused }

    /// An item that never crashed and has no reason yet; the other columns are set afterwards.
    package init(id: Int64, key: String, name: String, path: String, fingerprint: String, state: ItemState) {
        (self.id, self.key, self.name, self.path) = (id, key, name, path)
        (self.fingerprint, self.state) = (fingerprint, state)
    }
}

extension Sequence<JournalItem> {
    /// Those of some names that items have, by name.
    package func named(_ names: Set<String>) -> [String: JournalItem] {
        guard !names.isEmpty else { return [:] }
        return Dictionary(lazy.filter { names.contains($0.name) }.map { ($0.name, $0) }) { first, _ in first }
    }
}

extension FaultCode {
    /// The result was taken from another batch.
    public static let reused = FaultCode("item", "reused")
}

/// What is recorded of a found item by ``Journal/record(_:)``.
public struct JournalEntry: Sendable, Hashable {
    /// As it was found, with its source files.
    public var item: DiscoveredItem
    /// The folder of the item in the output.
    public var name: String
    /// To be recorded; not `started`, which only ``Journal/markStarted(_:)`` records.
    public var state: ItemState
    /// To be recorded; nil where there is nothing to explain.
    public var reason: ItemReason?
    /// How often the engine crashed while this item was active.
    public var crashes: Int

    /// - Parameters:
    ///   - item: as it was found.
    ///   - name: the folder of the item in the output, unique in the batch.
    ///   - state: how it stands from now on.
    ///   - reason: why; nil where there is nothing to explain.
    ///   - crashes: how often the engine crashed while it was active.
    public init(
        _ item: DiscoveredItem,
        name: String,
        state: ItemState,
        reason: ItemReason? = nil,
        crashes: Int = 0
    ) {
        (self.item, self.name, self.state) = (item, name, state)
        (self.reason, self.crashes) = (reason, crashes)
    }
}
