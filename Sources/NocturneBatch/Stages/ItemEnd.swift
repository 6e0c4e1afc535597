package import NocturneJournal
package import NocturneSystem

/// How an item's processing ended. The scheduler hears it exactly once.
package struct ItemEnd: Sendable {
    /// What became of the item.
    package enum Outcome: Sendable {
        /// Its folder is in place and the journal has it.
        case completed(ItemProduct)
        case failed(ItemReason, recovery: RecoveryAction?)
        /// Stopped from outside.
        case interrupted
        /// It waits again: its inference had not begun, or it was stopped in a pause or for another item.
        case postponed(Postponement)
    }

    /// Of the item in the journal.
    package let id: Int64
    /// What became of it.
    package let outcome: Outcome
    /// Seconds spent in each stage.
    package let seconds: [Stage: Double]

    /// - Parameters:
    ///   - id: of the item in the journal.
    ///   - outcome: what became of it.
    ///   - seconds: in each stage that it has passed, the last one included.
    package init(id: Int64, outcome: Outcome, seconds: [Stage: Double]) {
        self.id = id
        self.outcome = outcome
        self.seconds = seconds
    }
}

/// Hears how items end. A direct call, so that cancellation of the caller's task loses nothing.
protocol ItemEndReceiver: Sendable {
    /// Whether there is anything that could postpone an item now: hours, a deadline, or a request to stop.
    nonisolated var mayPostpone: Bool { get }
    /// Whether the time of tiles is of use: there is a deadline.
    nonisolated var usesStepTimes: Bool { get }
    /// Why an item whose inference has not begun must not continue; nil when it may.
    func postponement(of id: Int64) async -> Postponement?
    /// One of the first tiles of an item took so long.
    func stepTimed(_ id: Int64, seconds: Double) async
    /// The results of these items may be wrong.
    func doubt(_ names: [String], because reason: String) async
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
    /// Processing it: the result of another batch cannot be taken.
    case process
    /// Nothing helps, and nothing went wrong: the item is set aside.
    case setAside

    init?(for error: any Error) {
        if error is ChangedInput {
            self = .rediscover
        } else if error is NotReusable {
            self = .process
        } else if error is NotAnInput {
            self = .setAside
        } else if let error = error as? any SystemCallError, error.isTransient {
            self = error.isOutOfRoom ? .freeSpace : .retry
        } else {
            return nil
        }
    }
}

/// A stage has found out that an item is not an input of its model: it is set aside, and does not count as a failure.
package struct NotAnInput: CodedError, SentenceConvertible, CustomStringConvertible {
    /// Of the reason that is recorded.
    package let faultCode: FaultCode
    /// The reason that is recorded.
    package let sentence: Sentence
    /// With all names.
    package var description: String { sentence.description }

    /// - Parameters:
    ///   - code: why it is not an input, for programs.
    ///   - sentence: the fact.
    package init(_ code: FaultCode, _ sentence: Sentence) { (faultCode, self.sentence) = (code, sentence) }
}
