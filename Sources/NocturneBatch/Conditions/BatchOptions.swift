public import NocturneJournal
public import NocturneOutput
public import NocturneReport
package import NocturneSystem

/// How a run ended.
public struct BatchOutcome: Sendable {
    /// Of all items of the batch, by their states.
    public let counts: BatchCounts
    /// How the run was asked to end, from which its exit code follows.
    public let mode: RunControl.Mode
    /// Why the run could not continue, when it could not.
    public let givenUp: String?
    /// Whether the run has ended so that a person can look at the latest items: it is of no use to continue before.
    public var isTripped = false
    /// What a person may want to look at; nil where no report was written.
    public var remarks: ReportRemarks?
}

/// What to do about an item that makes no progress, or takes too long.
public struct StallPolicy: Sendable {
    /// Without progress: no tile finished, no stage left. Nil for never.
    public var seconds: Int?
    /// For processing one item, in all stages together, after which it fails. Nil for never.
    public var itemSeconds: Int?
    /// Called with the item, the stage and the time, from a separate thread. A thread that hangs in a system call cannot
    /// be stopped, so this ends the process: its supervisor starts the next one, which tries the item alone.
    public var action: @Sendable (String) -> Void

    /// - Parameters:
    ///   - seconds: without progress; nil for never.
    ///   - itemSeconds: for one item, in all stages together; nil for never.
    ///   - action: called with what is stuck, from a separate thread; ends the process.
    public init(seconds: Int?, itemSeconds: Int? = nil, action: @escaping @Sendable (String) -> Void) {
        self.seconds = seconds
        self.itemSeconds = itemSeconds
        self.action = action
    }
}

/// What a run may use of the machine.
public struct ResourceLimits: Sendable {
    /// Compute threads.
    public var threads: Int
    /// The memory budget; nil for 80 % of what is available.
    public var memoryBytes: Int?
    /// Of the process's resident bytes those that loading the models took; the recipes count them as shared.
    public var loadedBytes: Int
    /// Resident bytes of the process before the run, which the budget has to cover too; nil to ask the system.
    public var processBytes: Int?

    /// - Parameters:
    ///   - threads: of the compute pool.
    ///   - memoryBytes: nil for 80 % of what is available.
    ///   - loadedBytes: resident bytes that loading the models took.
    ///   - processBytes: resident bytes before the run; nil to ask the system.
    public init(threads: Int, memoryBytes: Int? = nil, loadedBytes: Int = 0, processBytes: Int? = nil) {
        self.threads = threads
        self.memoryBytes = memoryBytes
        self.loadedBytes = loadedBytes
        self.processBytes = processBytes
    }

    /// What the process takes without its models.
    package func processBytes(by reading: MemoryReading) -> Int {
        processBytes ?? max((reading.residentBytes ?? 0) - loadedBytes, 0)
    }
}

/// What is processed when, and what failures lead to.
public struct RunRules: Sendable {
    /// Which failed, cancelled and quarantined items are tried again.
    public var retries = RetrySelection.none
    /// Whether the user has confirmed changes that affect results.
    public var isChangeConfirmed = false
    /// When the latest items end the run.
    public var stop = StopRules()
    /// Whether a full disk is waited for.
    public var onFull = FullDiskPolicy.pause
    /// Nil for that of the paths; a pilot is spread then.
    public var order: WorkOrder?
    /// How many items are processed before the run stops, so that a person can look at them; nil for all.
    public var pilot: Int?
    /// Whether the other items wait for the approval of the pilot, in this run and in later ones.
    public var needsApproval = false
    /// Whether a run that has a pilot without approval waits for it. Otherwise it ends.
    public var waitsForApproval = true
    /// How new inputs are waited for; nil for the inputs as they are.
    public var watch: FolderWatcher?
    /// When items may be started; all day unless it is set.
    public var hours = WorkingHours()
    /// Nothing is started that would probably not be finished at this time, in seconds since 1970, whatever the hours are; nil
    /// for no such time.
    public var deadline: Int?
    /// What to do about an item that makes no progress; nil to wait for ever.
    public var stall: StallPolicy?
    /// The ranges that values are expected in; nil for those of the runs before.
    public var referenceRanges: [ReferenceRange]?

    /// The rules without options: everything is processed in the order of discovery, and nothing that failed is tried again.
    public init() {}
}

/// What a supervisor passes to the engine that it starts.
public struct SupervisionState: Sendable {
    /// Names the supervisor; nil without one. A crash counts only against what an engine of the same supervisor had active.
    public var supervisor: String?
    /// How the engine before this one ended, when it crashed.
    public var previousCrash: String?
    /// The descriptor of the folder's lock, where the supervisor has kept it after a crash; nil otherwise.
    public var lock: Int32?

    /// - Parameters:
    ///   - supervisor: its name; nil without one.
    ///   - previousCrash: how the engine before this one crashed; nil for the first one.
    ///   - lock: the descriptor that the supervisor has kept; nil for none.
    public init(supervisor: String? = nil, previousCrash: String? = nil, lock: Int32? = nil) {
        self.supervisor = supervisor
        self.previousCrash = previousCrash
        self.lock = lock
    }
}

/// What a run needs to know besides the recipes.
public struct BatchOptions: Sendable {
    /// Where the batch is.
    public var output: OutputFolder
    /// What the batch is made of; compared with what the journal has of it.
    public var description: BatchDescription
    /// What the run may use of the machine.
    public var resources: ResourceLimits
    /// What is processed when, and what failures lead to.
    public var rules: RunRules
    /// What the supervisor passes on.
    public var supervision: SupervisionState
    /// Output folders of other batches, whose results are taken where they are those of items of this one; none for those of the
    /// run before.
    public var reuse: [String] = []
    /// A folder on another disk in which results are prepared: see `OutputFolder.makeWorkFolder(in:)`. Nil for the output folder.
    public var work: String?
    /// The page written with the report; nil for none.
    public var page: (any BatchPage)?

    /// - Parameters:
    ///   - output: where the batch is.
    ///   - description: what it is made of.
    ///   - resources: what the run may use of the machine.
    ///   - rules: what is processed when.
    ///   - supervision: what the supervisor passes on; empty without one.
    public init(
        output: OutputFolder,
        description: BatchDescription,
        resources: ResourceLimits,
        rules: RunRules = RunRules(),
        supervision: SupervisionState = SupervisionState()
    ) {
        self.output = output
        self.description = description
        self.resources = resources
        self.rules = rules
        self.supervision = supervision
    }
}
