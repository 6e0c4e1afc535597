import NocturneConcurrency
import NocturneSystem

/// Brings an item into the form that the network, or the next stage, takes.
///
/// Its jobs run on the compute pool, one at a time.
actor Preprocessor<Loaded: Sendable, Prepared: Sendable>: StageActor {
    nonisolated let link: StageLink<Loaded, Prepared>
    var active = ActiveItems()
    private let prepare: StageFunction<Loaded, Prepared>
    private let executor: PoolSerialExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ link: StageLink<Loaded, Prepared>, _ prepare: @escaping StageFunction<Loaded, Prepared>) {
        self.link = link
        self.prepare = prepare
        executor = link.environment.pool.serialExecutor()
    }

    func work(on message: StageMessage<Loaded>) throws -> Prepared {
        try FaultPoint.stage.pass(of: message.item.item.name)
        return try prepare(message.payload, message.item.item, message.item.context)
    }
}
