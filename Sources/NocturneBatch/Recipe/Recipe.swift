import Foundation
public import NocturneConcurrency
import NocturneCore
public import NocturneJournal
public import NocturneSystem

/// What to do for one kind of model, as synchronous functions, one per stage.
///
/// The stages know budgets, channels, cancellation and progress; a recipe knows kidneys, books or skin. Every function
/// runs on a thread of a pool (discovering, loading and writing on one that may wait for the disk, the others on a compute
/// thread), may share loops through the context's scope, looks at its flag at least once a second, and throws an error
/// whose description names the file and the fact.
public protocol Recipe: Sendable {
    /// What the journal keeps of an item, to find its input again and to plan for it without reading pixels. Decoded once
    /// when the item is admitted.
    associatedtype Source: Codable & Sendable

    /// Walks the inputs, reading no pixels.
    func discover(_ request: DiscoveryRequest, scope: ComputeScope) throws -> Discovery

    /// Memory that all items share while the batch runs: weights and the engine's workspace.
    func sharedBytes(threads: Int) throws -> Int

    /// What an item will need, from the header facts in its source.
    /// - Parameter lean: the plan with the least memory that gives the same bytes. A recipe that has only one way gives
    ///   the same plan for both.
    func plan(_ source: Source, threads: Int, lean: Bool) throws -> ItemPlan

    /// How long one step of inference takes here and now: one is run and timed.
    func secondsPerStep(scope: ComputeScope) throws -> Double

    /// How many threads each of several equal processes on a machine with so many cores uses well, if they share the cores.
    func threadsOfProcess(cores: Int) throws -> Int

    /// The stages that this recipe has, in order.
    func stages(_ start: StageBuilder<Source>) -> RecipeStages<Source>

    /// Whether a folder holds a whole result of `fingerprint`, and which files belong to it: how a folder that was renamed
    /// into place but never journaled is recognised. Nil for anything else; errors of reading count as nil.
    func recognize(folder: String, fingerprint: String) throws -> ItemProduct?

    /// Whether a result in a folder, of this item with other options, has what the stages after the inference need: then it is
    /// made again without inference. Only a forecast: the stages find out for themselves. Errors of reading count as no.
    func keepsInference(_ source: Source, of folder: String) throws -> Bool

    /// Writes what is about the whole batch: called at the end of a run in which something changed.
    /// - Parameters:
    ///   - folders: of all completed items of the batch, in the order of discovery, of other recipes too.
    ///   - output: the batch's output folder. Files are replaced in one step.
    func summarize(folders: FileBackedList<String>, into output: String, flag: CancellationFlag) throws
}

extension Recipe {
    /// One process with a thread for every core.
    public func threadsOfProcess(cores: Int) throws -> Int { cores }

    /// No.
    public func keepsInference(_ source: Source, of folder: String) throws -> Bool { false }

    /// Nothing.
    public func summarize(folders: FileBackedList<String>, into output: String, flag: CancellationFlag) throws {}

    /// Reads a source as the journal has it: one line of JSON.
    public static func source(from text: String) throws -> Source {
        try JSONDecoder().decode(Source.self, from: Data(text.utf8))
    }

    /// ``plan(_:threads:lean:)`` for a source as the journal has it.
    public func plan(source: String, threads: Int, lean: Bool) throws -> ItemPlan {
        try plan(Self.source(from: source), threads: threads, lean: lean)
    }

    /// ``keepsInference(_:of:)`` for a source as the journal has it.
    func keepsInference(source: String, of folder: String) -> Bool {
        (try? keepsInference(Self.source(from: source), of: folder)) ?? false
    }

    /// The ordinary plan if it fits into `bytes`, else the lean one, which may not fit either.
    public func plan(source: String, threads: Int, within bytes: Int) throws -> ItemPlan {
        try plan(Self.source(from: source), threads: threads, within: bytes)
    }

    /// The ordinary plan if it fits into `bytes`, else the lean one, which may not fit either.
    public func plan(_ source: Source, threads: Int, within bytes: Int) throws -> ItemPlan {
        let ordinary = try plan(source, threads: threads, lean: false)
        if ordinary.peak() <= bytes { return ordinary }
        let lean = try plan(source, threads: threads, lean: true)
        return lean.peak() < ordinary.peak() ? lean : ordinary
    }
}

/// Inference of one item, a tile at a time, so that it can be paused, cancelled and checkpointed between tiles.
///
/// It belongs to the inference stage, an actor, and is never used outside it.
public protocol InferenceRun: AnyObject, SendableMetatype {
    associatedtype Inferred: Sendable
    /// Tiles in all, and those done (including what a checkpoint saved).
    var stepCount: Int { get }
    var stepsDone: Int { get }
    /// Does one tile.
    func step(_ context: StageContext) throws
    /// Keeps what is finished, if it is worth it, or whenever there is something when `force` is set.
    func checkpoint(force: Bool, _ context: StageContext) throws
    /// The result, once every step is done.
    func finish(_ context: StageContext) throws -> Inferred
}

/// The inputs and filters of a batch.
public struct DiscoveryRequest: Sendable {
    public var inputs: [String]
    public var include: [String]
    public var exclude: [String]
    /// Folders not to be walked: the output folder.
    public var pruned: [String]
    /// Whether an input that is not there is a note instead of an error: in a batch that was begun before.
    public var toleratesMissing: Bool
    /// Files that do not answer, which are not to be read.
    public var silent: UnresponsiveFiles
    /// Told of files before they are read, and of those that are put together before that is done.
    public var trace: DiscoveryTrace
    /// What items may be called, and results may say of their sources.
    public var identifiers: IdentifierPolicy

    public init(
        inputs: [String],
        include: [String] = [],
        exclude: [String] = [],
        pruned: [String] = [],
        toleratesMissing: Bool = false,
        silent: UnresponsiveFiles = UnresponsiveFiles(patience: nil),
        trace: DiscoveryTrace = DiscoveryTrace(),
        identifiers: IdentifierPolicy = .hash
    ) {
        self.inputs = inputs
        self.include = include
        self.exclude = exclude
        self.pruned = pruned
        self.toleratesMissing = toleratesMissing
        self.silent = silent
        self.trace = trace
        self.identifiers = identifiers
    }

    /// How results show names where no patient is known.
    public var shownNames: ShownNames { ShownNames(identifiers) }
}

/// The item as a recipe sees it.
public struct RecipeItem: Sendable {
    /// The name of its folder in the output folder.
    public let name: String
    /// The input as the user knows it.
    public let path: String
    public let fingerprint: String
    /// Labels that take the place of the model's; nil for nearly all items.
    public let edit: ItemEdit?
    /// The folder of an earlier result of this item, which stays until the new one takes its place. Nobody has checked it: a
    /// recipe that makes use of it compares fingerprints and digests.
    public var earlierResult: String?
    /// Of the program that processes it; empty when it is not known.
    public var version = ""

    public init(name: String, path: String, fingerprint: String, edit: ItemEdit? = nil) {
        self.name = name
        self.path = path
        self.fingerprint = fingerprint
        self.edit = edit
    }
}

/// What a recipe's function may use.
public struct StageContext: Sendable {
    /// The idle compute threads and the item's cancellation flag.
    public let scope: ComputeScope
    /// The item's folder in staging, for checkpoints and for big buffers. Not created until somebody needs it.
    public let staging: String
    /// Whether the item goes by its lean plan.
    public let isLean: Bool

    public init(scope: ComputeScope, staging: String, isLean: Bool = false) {
        self.scope = scope
        self.staging = staging
        self.isLean = isLean
    }
}
