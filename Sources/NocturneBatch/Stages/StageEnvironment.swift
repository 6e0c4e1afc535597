import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// What the stages and the committer share.
struct StageEnvironment: Sendable {
    let pool: ComputePool
    let blocking: BlockingPool
    let receiver: any ItemEndReceiver
    let progress: ProgressReporter
    let gate: PressureGate
    /// Nil when no item is ever taken for stalled.
    let stalls: StallDetector?
    let health: OutputHealth
    let time: any TimeSource
    let device: DeviceMeter

    /// Ends an item because of an error: it was interrupted, or it failed.
    func end(_ item: ActiveItem, in stage: Stage, with error: any Error, seconds: [Stage: Double]) async {
        let isInterrupted = item.flag.isCancelled || error is CancellationError || error is CancelledError
        let outcome = isInterrupted ? .interrupted : await failure(of: item, in: stage, error)
        await end(item, outcome, seconds: seconds)
    }

    /// What failed: the source, which has changed since; the output folder; or the item itself.
    private func failure(of item: ActiveItem, in stage: Stage, _ error: any Error) async -> ItemEnd.Outcome {
        func reason(_ error: any Error) -> ItemReason {
            ItemReason(FaultCode(of: error), "\(error)", stage: stage.rawValue)
        }
        do {
            // If the source changed or vanished, that is the reason, whatever the error of the read.
            try await blocking.run { () throws(ChangedInput) in try item.checkInputs() }
        } catch {
            return .failed(reason(error), recovery: .rediscover)
        }
        let recovery = RecoveryAction(for: error)
        if recovery != .freeSpace, let fault = await health.fault() {
            return .failed(ItemReason(.outputUnusable, text: fault, stage: stage.rawValue), recovery: .repairOutput)
        }
        return .failed(reason(error), recovery: recovery)
    }

    /// Gives the item's memory back and reports how it ended.
    func end(_ item: ActiveItem, _ outcome: ItemEnd.Outcome, seconds: [Stage: Double]) async {
        item.lease.release()
        var outcome = outcome
        let timeout = stalls?.forget(item.id)
        if case .interrupted = outcome, let timeout {
            outcome = .failed(timeout, recovery: nil)
        }
        await receiver.itemEnded(ItemEnd(id: item.id, outcome: outcome, seconds: seconds))
    }
}
