import NocturneConcurrency
import NocturneCore
import NocturneSystem
import Synchronization

/// An item on its way through the pipeline: its memory, its flag, its clock.
final class ActiveItem: Sendable {
    let id: Int64
    let item: RecipeItem
    let plan: ItemPlan
    let lease: MemoryLease
    let flag: CancellationFlag
    /// The place in the order of admission: under critical pressure the first goes on alone.
    let sequence: Int
    let context: StageContext
    private let inputs: [InputStamp]
    private let clock = Mutex<[Stage: Double]>([:])
    private let late = Mutex<String?>(nil)

    init(
        id: Int64,
        item: RecipeItem,
        plan: ItemPlan,
        lease: MemoryLease,
        flag: CancellationFlag,
        sequence: Int,
        context: StageContext,
        inputs: [InputStamp]
    ) {
        self.id = id
        self.item = item
        self.plan = plan
        self.lease = lease
        self.flag = flag
        self.sequence = sequence
        self.context = context
        self.inputs = inputs
    }

    /// - Throws: ``ChangedInput`` when a source file is no longer what the fingerprint was made of.
    func checkInputs() throws(ChangedInput) {
        if let changed = inputs.first(where: { !$0.holds }) { throw ChangedInput(path: changed.path) }
    }

    /// Why it was stopped, when it took longer than an item may.
    var timeoutReason: String? { late.withLock { $0 } }

    /// Its file, when there is but one: what it hangs in while it is loaded.
    var onlyInput: String? { inputs.count == 1 ? inputs[0].path : nil }

    /// Stops it: it has had its time.
    func stopLate(after seconds: Int, in stage: Stage) {
        late.withLock {
            $0 =
                "took longer than the \(EventText.duration(Double(seconds))) that an item may take (stage \(stage.rawValue))"
        }
        flag.cancel()
    }

    /// Adds to a stage's time: writing and committing both count as the last one's.
    func record(_ stage: Stage, seconds: Double) { clock.withLock { $0[stage, default: 0] += seconds } }

    var seconds: [Stage: Double] { clock.withLock { $0 } }
}

/// What travels in a channel: an item, and what the last stage made of it.
struct StageMessage<Payload: Sendable>: Sendable {
    let item: ActiveItem
    let payload: Payload
}

/// How an item's way ended, sent to the scheduler by whichever stage it ended in.
struct ItemReport: Sendable {
    enum End: Sendable {
        case completed(ItemProduct)
        case failed(reason: String, stage: Stage, cure: RecoveryAction?)
        /// Stopped from outside.
        case interrupted
    }

    /// What may help against a failure.
    enum RecoveryAction: Sendable {
        /// Trying again: it may have gone away by itself.
        case another
        /// Room on the disk.
        case room
        /// Looking at the inputs again: they changed.
        case discovery
        /// Repairing the output folder: nothing can be written to it, whatever the item.
        case output

        init?(for error: any Error) {
            if error is ChangedInput {
                self = .discovery
            } else if let fault = error as? any SystemCallError, fault.isTransient {
                self = fault.isOutOfRoom ? .room : .another
            } else {
                return nil
            }
        }
    }
    let item: ActiveItem
    let end: End
}
