public import NocturneConcurrency
public import NocturneOutput

/// The item as a recipe sees it.
public struct RecipeItem: Sendable {
    /// The name of its folder in the output folder.
    public let name: String
    /// The input as the user knows it.
    public let path: String
    /// Of source files, model and options, in hexadecimal digits; written to `result.json`.
    public let fingerprint: String
    /// Labels that take the place of the model's; nil for nearly all items.
    public let edit: ItemEdit?
    /// The folder of an earlier result of this item, which stays until the new one takes its place, or of one of another batch. It
    /// must not be changed. Nobody has checked it: a recipe that makes use of it compares fingerprints and digests.
    public var earlierResult: String?
    /// Of the program that processes it; empty when it is not known.
    public var version = ""
}

/// What a recipe's function may use.
public struct StageContext: Sendable {
    /// The idle compute threads and the item's cancellation flag.
    public let scope: ComputeScope
    /// The item's folder in staging, for checkpoints and for big buffers. Not created until somebody needs it.
    public let staging: String
    /// Whether the item goes by its lean plan.
    public let isLean: Bool
    /// Bytes of the budget beyond the lean plan, which nothing else uses, since such an item runs alone; else 0.
    public let spareBytes: Int
}

/// What a stage does with one item: a function of what the stage before made of it.
public typealias StageFunction<Input, Output> =
    @Sendable (consuming Input, RecipeItem, StageContext) throws -> Output

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
