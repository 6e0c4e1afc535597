/// How an item's processing ended. The scheduler hears it exactly once.
package struct ItemEnd: Sendable {
    package enum Outcome: Sendable {
        case completed(ItemProduct)
        case failed(reason: String, stage: Stage, recovery: RecoveryAction?)
        /// Stopped from outside.
        case interrupted
    }

    package let id: Int64
    package let outcome: Outcome
    /// Seconds spent in each stage.
    package let seconds: [Stage: Double]

    package init(id: Int64, outcome: Outcome, seconds: [Stage: Double]) {
        self.id = id
        self.outcome = outcome
        self.seconds = seconds
    }
}

/// What may help against a failure.
package enum RecoveryAction: Sendable {
    /// Trying again: it may have gone away by itself.
    case retry
    /// Free space on the disk.
    case freeSpace
    /// Searching the inputs again: they changed.
    case rediscover
    /// Repairing the output folder: nothing can be written to it, whatever the item.
    case repairOutput
}

/// Hears how items end. A direct call, so that cancellation of the caller's task loses nothing.
protocol ItemEndReceiver: Sendable {
    func itemEnded(_ end: ItemEnd) async
}
