import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// An item on its way through the pipeline: what it is, its memory and its flag. Nothing in it changes on the way.
struct ActiveItem: Sendable {
    let id: Int64
    let item: RecipeItem
    let plan: ItemPlan
    let lease: MemoryBudget.Lease
    let flag: CancellationFlag
    /// The place in the order of admission: under critical pressure the first continues alone.
    let sequence: Int
    let context: StageContext
    let inputs: [InputStamp]

    /// - Throws: ``ChangedInput`` when a source file is no longer what the fingerprint was made of.
    func checkInputs() throws(ChangedInput) {
        if let changed = inputs.first(where: { !$0.holds }) { throw ChangedInput(path: changed.path) }
    }

    /// Its file, when there is but one: what it hangs in while it is loaded.
    var onlyInput: String? { inputs.count == 1 ? inputs[0].path : nil }

    /// The folder in staging that becomes the item's result.
    var stagedResult: String { context.staging + "/result" }

    /// Makes ``stagedResult``, empty.
    func makeStagedResult() throws(FileSystemError) -> String {
        try FileSystem.makeFolder(context.staging)
        try FileSystem.makeEmptyFolder(stagedResult)
        return stagedResult
    }

    /// Shrinks the lease to what the later stages need.
    func shrinkLease(after stage: Stage) {
        lease.shrink(to: stage.next.map { plan.peak(from: $0) } ?? 0)
    }
}

/// What travels in a channel: an item, what the last stage made of it, and how long the stages so far took.
struct StageMessage<Payload: Sendable>: Sendable {
    let item: ActiveItem
    let payload: Payload
    var seconds: [Stage: Double] = [:]
}

/// A source file has changed since discovery: its item has to be discovered again.
struct ChangedInput: CodedError, SentenceConvertible, CustomStringConvertible {
    let path: String
    var faultCode: FaultCode { .changed }

    var sentence: Sentence {
        InputStamp(path).size == nil
            ? "\(file: path) was removed after the batch began" : "\(file: path) was changed while the batch ran"
    }

    var description: String { sentence.description }
}
