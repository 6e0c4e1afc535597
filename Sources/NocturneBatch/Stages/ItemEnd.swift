package import NocturneJournal
import NocturneSystem

/// How an item's processing ended. The scheduler hears it exactly once.
package struct ItemEnd: Sendable {
    package enum Outcome: Sendable {
        /// Its folder is in place and the journal has it.
        case completed(ItemProduct)
        case failed(ItemReason, recovery: RecoveryAction?)
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

/// Hears how items end. A direct call, so that cancellation of the caller's task loses nothing.
protocol ItemEndReceiver: Sendable {
    func itemEnded(_ end: ItemEnd) async
}

/// What may help after a failure.
package enum RecoveryAction: Sendable {
    /// Trying again: the cause may have gone away by itself.
    case retry
    /// Waiting for free space on the disk.
    case freeSpace
    /// Discovering the inputs again: they changed.
    case rediscover
    /// Repairing the output folder: nothing can be written to it, whatever the item.
    case repairOutput

    init?(for error: any Error) {
        if error is ChangedInput {
            self = .rediscover
        } else if let error = error as? any SystemCallError, error.isTransient {
            self = error.isOutOfRoom ? .freeSpace : .retry
        } else {
            return nil
        }
    }
}
