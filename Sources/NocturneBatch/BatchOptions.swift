/// How a run ended.
public struct BatchOutcome: Sendable {
    public let counts: BatchCounts
    public let mode: RunControl.Mode
    /// The largest sum of leases there was.
    public let peakLeasedBytes: Int
    /// Why the run could not go on, when it could not.
    public let givenUp: String?
}

/// What to do about an item that makes no progress, or takes too long.
public struct StallPolicy: Sendable {
    /// Without progress: no tile done, no stage left. Nil for never.
    public var seconds: Int?
    /// At work on one item, in all stages together, after which it fails. Nil for never.
    public var itemSeconds: Int?
    /// Called with the item, the stage and the time, from a thread of its own. A thread that hangs in a system call cannot
    /// be stopped, so this ends the process: its supervisor starts the next one, which tries the item alone.
    public var action: @Sendable (String) -> Void

    public init(seconds: Int?, itemSeconds: Int? = nil, action: @escaping @Sendable (String) -> Void) {
        self.seconds = seconds
        self.itemSeconds = itemSeconds
        self.action = action
    }
}

/// What a run needs to know besides the recipe.
public struct BatchOptions: Sendable {
    public var output: OutputFolder
    public var description: BatchDescription
    public var threads: Int
    /// The memory budget; nil for 80 % of what is there.
    public var memoryBytes: Int?
    public var retryFailed: Bool
    public var overwrite: Bool
    public var failFast: Bool
    public var onFull: FullDiskPolicy
    /// Whether new inputs are waited for, and how; nil for the inputs as they are.
    public var watch: FolderWatcher?
    public var hours: WorkingHours
    /// What to do about an item that makes no progress; nil to wait for ever.
    public var stall: StallPolicy?
    /// How the engine before this one died, when a supervisor starts it anew.
    public var previousDeath: String?
    /// Of the process's resident bytes those that loading the models took; the recipes count them as shared.
    public var loadedBytes: Int
    /// Names the supervisor; nil without one. A death is laid only to what an engine of the same supervisor had in flight.
    public var supervisor: String?
    /// The descriptor of the folder's lock, where the supervisor has kept it after an engine's death; nil otherwise.
    public var lock: Int32?
    /// Resident bytes of the process before the run, which the budget has to cover too; nil to ask the system.
    public var processBytes: Int?

    public init(
        output: OutputFolder,
        description: BatchDescription,
        threads: Int,
        memoryBytes: Int? = nil,
        retryFailed: Bool = false,
        overwrite: Bool = false,
        failFast: Bool = false,
        onFull: FullDiskPolicy = .pause,
        watch: FolderWatcher? = nil,
        hours: WorkingHours = WorkingHours(),
        stall: StallPolicy? = nil,
        previousDeath: String? = nil,
        loadedBytes: Int = 0,
        supervisor: String? = nil,
        lock: Int32? = nil,
        processBytes: Int? = nil
    ) {
        self.output = output
        self.description = description
        self.threads = threads
        self.memoryBytes = memoryBytes
        self.retryFailed = retryFailed
        self.overwrite = overwrite
        self.failFast = failFast
        self.onFull = onFull
        self.watch = watch
        self.hours = hours
        self.stall = stall
        self.previousDeath = previousDeath
        self.loadedBytes = loadedBytes
        self.supervisor = supervisor
        self.lock = lock
        self.processBytes = processBytes
    }
}
