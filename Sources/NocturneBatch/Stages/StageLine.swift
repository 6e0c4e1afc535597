import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// What every stage does around its own work: take an item, run it, time it, give memory back, and pass it on; or end it.
///
/// A bad item is a value that travels to the report, never an error that ends the stage.
struct StageLine<Input: Sendable, Output: Sendable>: Sendable {
    let stage: Stage
    let input: BoundedChannel<StageMessage<Input>>
    let output: BoundedChannel<StageMessage<Output>>
    let surroundings: StageEnvironment

    /// Takes items until the channel ends, then ends the next one. Returns early when the task is cancelled.
    func run(workers: Int = 1, _ body: @escaping @Sendable (StageMessage<Input>) async throws -> Output) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<workers {
                group.addTask {
                    while let (item, result) = await next(body) {
                        guard let result else { continue }
                        // The flight, and with it what the last stage made, is gone by now.
                        surroundings.giveBack(item, after: stage)
                        do {
                            _ = FaultPoint.channelSend.failure()
                            try await output.send(
                                StageMessage(item: item, payload: result),
                                cost: item.plan.bytes(after: stage)
                            )
                        } catch {
                            await surroundings.end(item, .interrupted)
                        }
                    }
                }
            }
        }
        output.finish()
    }

    /// Takes one item and does its work. Nil at the end of the channel; no result when the item ended here.
    private func next(_ body: @Sendable (StageMessage<Input>) async throws -> Output) async -> (ActiveItem, Output?)? {
        guard let flight = try? await input.receive() else { return nil }
        _ = FaultPoint.channelReceive.failure()
        return (flight.item, await surroundings.attempt(stage, flight.item) { try await body(flight) })
    }
}

/// What the stages share.
struct StageEnvironment: Sendable {
    let pool: ComputePool
    let blocking: BlockingPool
    let reports: BoundedChannel<ItemReport>
    let progress: ProgressReporter
    let gate: PressureGate
    /// Nil when nothing is ever taken for stalled.
    let stalls: StallDetector?
    let health: OutputHealth

    /// Runs one item's work, timed. Nil when the item ended here, and was reported.
    func attempt<Output>(
        _ stage: Stage,
        _ item: ActiveItem,
        _ body: () async throws -> Output
    ) async -> Output? {
        if item.flag.isCancelled {
            await end(item, .interrupted)
            return nil
        }
        let start = ContinuousClock.now
        stalls?.enter(item, stage)
        defer { stalls?.leave(item.id) }
        do {
            try FaultPoint.stage.pass(of: item.item.name)
            let result = try await body()
            if stage == .load { try item.checkInputs() }
            item.record(stage, seconds: (ContinuousClock.now - start).inSeconds)
            return result
        } catch {
            if item.flag.isCancelled || error is CancellationError || error is CancelledError {
                await end(item, .interrupted)
            } else {
                await end(item, await failure(of: item, in: stage, error))
            }
            return nil
        }
    }

    /// Whose fault it is: the source's that is another one now, the output folder's, or the item's own.
    private func failure(of item: ActiveItem, in stage: Stage, _ error: any Error) async -> ItemReport.End {
        do {
            // What a file says that is being replaced, or is gone, is nothing to fail with.
            try item.checkInputs()
        } catch {
            return .failed(reason: "\(error)", stage: stage, cure: .discovery)
        }
        let cure = ItemReport.RecoveryAction(for: error)
        if cure != .room, let words = await health.fault() {
            return .failed(reason: words, stage: stage, cure: .output)
        }
        return .failed(reason: "\(error)", stage: stage, cure: cure)
    }

    /// Shrinks the lease to what the later stages need.
    func giveBack(_ item: ActiveItem, after stage: Stage) {
        item.lease.shrink(to: stage.next.map { item.plan.peak(from: $0) } ?? 0)
    }

    /// Gives the item's memory back and tells the scheduler.
    func end(_ item: ActiveItem, _ end: ItemReport.End) async {
        item.lease.release()
        stalls?.forget(item.id)
        var end = end
        if case .interrupted = end, let words = item.timeoutReason {
            end = .failed(reason: words, stage: .load, cure: nil)
        }
        // The scheduler settles what was never reported, so a report lost to cancellation loses nothing.
        try? await reports.send(ItemReport(item: item, end: end))
    }
}
