import NocturneConcurrency
import NocturneSystem

/// A stage whose work is one function of the recipe: preparation, finishing, rendering.
///
/// Its jobs run on the compute pool, one at a time.
actor ComputeStage<Input: Sendable, Output: Sendable>: StageActor {
    nonisolated let link: StageLink<Input, Output>
    private let compute: StageFunction<Input, Output>
    private let executor: PoolSerialExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ link: StageLink<Input, Output>, _ compute: @escaping StageFunction<Input, Output>) {
        self.link = link
        self.compute = compute
        executor = link.environment.pool.serialExecutor()
    }

    func work(on message: StageMessage<Input>) throws -> Output {
        try FaultPoint.stage.pass(of: message.item.item.name)
        return try compute(message.payload, message.item.item, message.item.context)
    }
}
