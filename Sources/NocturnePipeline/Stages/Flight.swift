import NocturneConcurrency
import Synchronization

/// An item on its way through the pipeline: its memory, its flag, its clock.
final class InFlightItem: Sendable {
    let id: Int64
    let item: RecipeItem
    let plan: ItemPlan
    let lease: MemoryLease
    let flag: CancellationFlag
    /// The place in the order of admission: under critical pressure the first goes on alone.
    let sequence: Int
    let context: StageContext
    private let clock = Mutex<[Stage: Double]>([:])

    init(
        id: Int64,
        item: RecipeItem,
        plan: ItemPlan,
        lease: MemoryLease,
        flag: CancellationFlag,
        sequence: Int,
        context: StageContext
    ) {
        self.id = id
        self.item = item
        self.plan = plan
        self.lease = lease
        self.flag = flag
        self.sequence = sequence
        self.context = context
    }

    /// Adds to a stage's time: writing and committing both count as the last one's.
    func record(_ stage: Stage, seconds: Double) { clock.withLock { $0[stage, default: 0] += seconds } }

    var seconds: [Stage: Double] { clock.withLock { $0 } }
}

/// What travels in a channel: an item, and what the last stage made of it.
struct Flight<Payload: Sendable>: Sendable {
    let item: InFlightItem
    let payload: Payload
}

/// How an item's way ended, sent to the scheduler by whichever stage it ended in.
struct ItemReport: Sendable {
    enum End: Sendable {
        case completed(ItemProduct)
        case failed(reason: String, stage: Stage, transient: Bool)
        /// Stopped from outside.
        case interrupted
    }
    let item: InFlightItem
    let end: End
}
