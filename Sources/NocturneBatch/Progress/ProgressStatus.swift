/// The state of a run, for a view.
public struct ProgressStatus: Sendable {
    public var total = 0
    public var done = 0
    public var failed = 0
    /// Items that are worked on, the oldest first.
    public var running: [RunProgress.Item] = []
    /// Until the batch has ended, without pauses; nil before there is anything to predict it from.
    public var etaSeconds: Double?
    /// Since the run began.
    public var elapsedSeconds: Double?
    /// Items that have ended in this run.
    public var ended = 0
    /// As measured last; nil before.
    public var memory: RunProgress.Memory?
    /// Since when the run is paused, and until when; nil while it works.
    public var pause: String?
    /// Whether the run waits for something, such as its hours or free space.
    public var isWaiting = false

    public init() {}
}
