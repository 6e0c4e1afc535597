package import NocturneJournal

extension AdmissionStateMachine {
    /// What an item needs while it is active.
    package struct Needs: Hashable, Sendable {
        /// The predicted peak, which is leased.
        package var memoryBytes: Int
        /// What it writes at most, in staging and as a result.
        package var diskBytes: Int
        /// Tiles, for estimates of time; at least one is assumed.
        package var steps: Int
        /// It is processed alone, by the plan that needs the least memory.
        package var isLean: Bool

        /// - Parameters:
        ///   - memoryBytes: the predicted peak.
        ///   - diskBytes: what it writes at most.
        ///   - steps: tiles.
        ///   - isLean: whether it is processed alone.
        package init(memoryBytes: Int, diskBytes: Int = 0, steps: Int = 1, isLean: Bool = false) {
            self.memoryBytes = memoryBytes
            self.diskBytes = diskBytes
            self.steps = steps
            self.isLean = isLean
        }
    }

    /// What holds for a whole run.
    package struct Settings: Sendable {
        /// For the leases of all items.
        package var memoryBytes: Int
        /// What the process takes when nothing is active.
        package var engineBytes = 0
        /// After a failure that may pass, the time to the next attempt: one for each attempt after the first.
        package var retryDelays: [Duration] = [.seconds(2), .seconds(8)]
        /// Whether the run ends when the disk is full, instead of waiting for space.
        package var stopsWhenFull = false
        /// Kept free for journal, report and events.
        package var diskSpareBytes = DiskShortage.spareBytes
        /// How long the run waits for space on the disk while nothing is active; then it ends.
        package var diskPatience = DiskShortage.patience
        /// How long an item waits for memory that other programs hold before it is started anyway; nil for ever.
        package var memoryPatience: Duration?
        /// For less than this the machine's memory is not measured: that takes longer than it is worth.
        package var leastMeasuredBytes = 32 << 20
        /// How many items at most are looked at because those before them wait for active items.
        package var lookahead = 32
        /// Whether items that would not be finished in time come again in a later round.
        package var isWatching = false

        /// Everything else has the value that runs use unless an option changes it.
        package init(memoryBytes: Int) { self.memoryBytes = memoryBytes }
    }

    /// The state of the outside at the moment of a decision.
    package struct Conditions: Sendable {
        /// Monotonic time.
        package var now: Duration
        /// What signals and requests have asked for.
        package var mode = RunControl.Mode.running
        /// Whether items whose inference has not begun are left to the next run.
        package var returnsLoaded = false
        /// Names of the items that are to be cancelled.
        package var cancelled: Set<String> = []
        /// What the active items have leased of the budget.
        package var leasedBytes = 0
        /// What models took that were released: as much more than ``Settings/memoryBytes`` may be leased together.
        package var releasedBytes = 0
        /// Whether the machine's memory is above the level normal.
        package var isUnderPressure = false
        /// Nothing is started while this number of items is active, at least 1; nil for any number.
        package var mostActive: Int?
        /// Whether the run is in a pause.
        package var isPaused = false
        /// Zero while items may be started.
        package var untilOpening = Duration.zero
        /// Until everything is to be finished; nil for no such time.
        package var untilDeadline: Duration?

        /// A run that may work: nothing leased, no pause, no hours.
        package init(now: Duration) { self.now = now }
    }

    /// An item that waits to be started.
    package struct Waiting: Hashable, Sendable {
        /// The parts of the queue, in their order.
        package enum Turn: Sendable {
            /// It did not fit when it was its turn, or comes before all others.
            case passedOver
            /// It was not looked at yet.
            case coming
            /// It was active before.
            case again
        }

        /// Which one.
        package let item: PendingItem
        /// Nil until it was asked for.
        package var needs: Needs?
        /// The part of the queue in which it is.
        package var turn = Turn.coming
        /// How often it was tried again because of failures that may pass.
        package var retries = 0
        /// In monotonic time.
        package var notBefore = Duration.zero
        /// How the disk became full while it was active; nil when it did not.
        package var fullDisk: FullDisk?
        /// The items that were active when it was first passed over because of what they hold.
        package var behind: Set<Int64>?
        /// A user has asked for it now: it goes before all others, and alone.
        package var isUrgent = false

        /// Whether nothing may be active with it.
        func isAlone(_ needs: Needs) -> Bool { item.isAlone || isUrgent || needs.isLean || fullDisk != nil }
    }

    /// The disk became full while an item was active. It is alone from then on: what fills the disk then is the item's own.
    package struct FullDisk: Hashable, Sendable {
        /// How often it happened while nothing else was active.
        package let timesAlone: Int
        /// The free space when the item was started the last time.
        package let freeBytes: Int
    }

    /// An item that was started.
    package struct Active: Hashable, Sendable {
        /// Which one.
        package let item: PendingItem
        /// As they were predicted when it was started.
        package let needs: Needs
        /// How often it was tried again before.
        package let retries: Int
        /// Whether nothing may be started while it is active.
        package var isAlone: Bool
        /// What was free on the disk when it was started.
        package var freeBytes = Int.max
        /// How the disk became full while it was active before; nil when it did not.
        package var fullDisk: FullDisk?
        /// It has ended, which is not recorded yet.
        package var isEnding = false
        /// As what it waits again once its end is recorded.
        package var returns: Waiting?
        /// It waits before the others: it was stopped in a pause or for another item, or the result of another batch cannot be taken.
        package var goesFirst = false

        func again(from time: Duration, retries: Int? = nil) -> Waiting {
            let retries = retries ?? self.retries
            return Waiting(
                item: item,
                needs: needs,
                turn: .again,
                retries: retries,
                notBefore: time,
                fullDisk: fullDisk
            )
        }
    }

    /// What is to be done.
    package enum Action: Hashable, Sendable {
        /// Answer with the next items of the queue: ``fetched(_:hasMore:)``.
        case fetch
        /// Find out what the item needs, and answer with ``planned(_:_:)`` or ``planFailed(_:_:)``.
        case plan(Int64)
        /// Answer with ``measured(_:)``.
        /// - Parameters:
        ///   - diskBytes: the bytes that are needed; nil when the disk does not matter.
        ///   - attempt: whether to try to write them.
        ///   - memory: whether to read the machine's memory.
        case measure(diskBytes: Int?, attempt: Bool, memory: Bool)
        /// Start the item; when that fails, answer with ``startFailed(_:_:_:)``.
        case start(Int64, after: MemoryWait?)
        /// Nothing can be started before something changes, or this time.
        case wait(WaitReason, until: Duration?)
        case complete(Int64, seconds: Double, ItemProduct)
        /// It is to be processed again, in this run or a later one, for this reason.
        case putBack(Int64, ItemReason)
        case settle(Int64, Settlement)
        /// Remove what the item has in staging.
        case discardStaging(Int64)
        /// Start nothing more; all active items come to their end.
        case drain(DrainReason)
        /// Stop everything, because the batch cannot continue.
        case giveUp(String)
        /// Nothing more will be started.
        case finished
    }

    /// How an item ended, for this run.
    package enum Settlement: Hashable, Sendable {
        case failed(ItemReason)
        /// Not an input of its model.
        case setAside(ItemReason)
        case cancelled
        case interrupted
    }

    /// Why nothing more is started, although items wait.
    package enum DrainReason: Hashable, Sendable {
        /// The number of items that would probably not be finished in time.
        case deadline(Int)
        case diskFull(DiskShortage)
        case journal(String)
        /// The time by which everything is to be finished has come in a pause.
        case paused
    }

    /// How long an item had to wait for memory that another program held, and whether it got it.
    package enum MemoryWait: Hashable, Sendable {
        case ended(Duration)
        case gaveUp(Duration)
    }

    /// What nothing can be started without.
    package enum WaitReason: Hashable, Sendable {
        case activeItems
        case retryTime
        /// Items may be started only within the working hours.
        case opening
        /// The end of a pause.
        case paused
        case disk(DiskShortage)
        case memory(MemoryShortage)
    }

    /// An item needs more memory than other programs leave.
    package struct MemoryShortage: Hashable, Sendable {
        /// Of the item that waits.
        package let name: String
        /// What it needs.
        package let bytes: Int
        /// What other programs leave; may be negative, since active items will still take some.
        package let availableBytes: Int

        /// - Parameters:
        ///   - name: of the item that waits.
        ///   - bytes: what it needs.
        ///   - availableBytes: what other programs leave.
        package init(name: String, bytes: Int, availableBytes: Int) {
            self.name = name
            self.bytes = bytes
            self.availableBytes = availableBytes
        }
    }
}
