import NocturneConcurrency
import NocturneSystem

/// Cleans and measures what was found.
///
/// Its jobs run on the compute pool, one at a time.
actor Postprocessor<Inferred: Sendable, Finished: Sendable>: StageActor {
    nonisolated let link: StageLink<Inferred, Finished>
    var active = ActiveItems()
    private let finish: StageFunction<Inferred, Finished>
    private let executor: PoolSerialExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ link: StageLink<Inferred, Finished>, _ finish: @escaping StageFunction<Inferred, Finished>) {
        self.link = link
        self.finish = finish
        executor = link.environment.pool.serialExecutor()
    }

    func work(on message: StageMessage<Inferred>) throws -> Finished {
        try FaultPoint.stage.pass(of: message.item.item.name)
        return try finish(message.payload, message.item.item, message.item.context)
    }
}
