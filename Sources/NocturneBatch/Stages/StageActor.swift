import NocturneConcurrency
import NocturneSystem

/// One stage of a pipeline: an actor that owns the items it works on.
///
/// A stage defines in ``work(on:)`` what it does with one item. Taking items, measuring, handing over and ending is the same
/// for all and stands here once. An error ends the item, never the stage.
protocol StageActor: Actor {
    associatedtype Input: Sendable
    associatedtype Output: Sendable

    nonisolated var link: StageLink<Input, Output> { get }
    /// How many items are worked on at a time. With more than one, ``work(on:)`` waits for threads elsewhere.
    nonisolated var workers: Int { get }

    func work(on message: StageMessage<Input>) async throws -> Output
}

extension StageActor {
    nonisolated var workers: Int { 1 }

    /// Takes items until the channel ends, then ends the next one. Returns early when the task is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<workers { group.addTask { await self.processAll() } }
        }
        link.finish()
    }

    private func processAll() async {
        while let item = await processNext() {
            guard let message = item else { continue }
            // What came in, and with it what the stage before made, has been freed by now.
            message.item.shrinkLease(after: link.stage)
            do {
                _ = FaultPoint.channelSend.failure()
                try await link.send(message)
            } catch {
                await link.environment.end(message.item, .interrupted, seconds: message.seconds)
            }
        }
    }

    /// Takes one item and works on it. Nil at the end of the channel; no message when the item ended here.
    private func processNext() async -> StageMessage<Output>?? {
        guard let message = try? await link.input.receive() else { return nil }
        _ = FaultPoint.channelReceive.failure()
        return .some(await process(message))
    }

    private func process(_ message: StageMessage<Input>) async -> StageMessage<Output>? {
        let (item, environment) = (message.item, link.environment)
        // Here items wait while the run is paused; one that is stopped meanwhile ends below.
        try? await environment.gate.pass(flag: item.flag)
        guard !item.flag.isCancelled else {
            await environment.end(item, .interrupted, seconds: message.seconds)
            return nil
        }
        if link.stage <= .infer, environment.receiver.mayPostpone,
            let postponement = await environment.receiver.postponement(of: item.id)
        {
            await environment.end(item, .postponed(postponement), seconds: message.seconds)
            return nil
        }
        let start = environment.gate.workTime
        environment.stalls?.enter(item, link.stage)
        await environment.progress.entered(item.id, link.stage)
        var seconds = message.seconds
        do {
            try await environment.health.checkHold()
            let output = try await work(on: message)
            environment.stalls?.leave(item.id)
            seconds[link.stage] = (environment.gate.workTime - start).inSeconds
            await environment.progress.left(item.id, link.stage)
            return StageMessage(item: item, payload: output, seconds: seconds)
        } catch {
            seconds[link.stage] = (environment.gate.workTime - start).inSeconds
            await environment.progress.left(item.id, link.stage)
            await environment.end(item, in: link.stage, with: error, seconds: seconds)
            return nil
        }
    }
}

/// How a stage is joined to its neighbours.
struct StageLink<Input: Sendable, Output: Sendable>: Sendable {
    let stage: Stage
    let input: BoundedChannel<StageMessage<Input>>
    let environment: StageEnvironment
    /// Hands an item on; returns once the next one may come. Runs where the stage runs: a change of threads for each item
    /// and stage costs more than small items do.
    let send: nonisolated(nonsending) @Sendable (StageMessage<Output>) async throws -> Void
    /// Signals that nothing more will come.
    let finish: @Sendable () -> Void
}

extension StageLink {
    /// From one channel to the next.
    init(
        _ stage: Stage,
        from input: BoundedChannel<StageMessage<Input>>,
        to output: BoundedChannel<StageMessage<Output>>,
        _ environment: StageEnvironment
    ) {
        self.init(
            stage: stage,
            input: input,
            environment: environment,
            send: { try await output.send($0) },
            finish: { output.finish() }
        )
    }
}
