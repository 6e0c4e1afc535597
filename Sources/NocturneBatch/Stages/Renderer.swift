import NocturneConcurrency
import NocturneSystem

/// Makes what people look at: surfaces of labels, pictures of photos.
///
/// Its jobs run on the compute pool, one at a time.
actor Renderer<Finished: Sendable, Rendered: Sendable>: StageActor {
    nonisolated let link: StageLink<Finished, Rendered>
    var active = ActiveItems()
    private let render: StageFunction<Finished, Rendered>
    private let executor: PoolSerialExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ link: StageLink<Finished, Rendered>, _ render: @escaping StageFunction<Finished, Rendered>) {
        self.link = link
        self.render = render
        executor = link.environment.pool.serialExecutor()
    }

    func work(on message: StageMessage<Finished>) throws -> Rendered {
        try FaultPoint.stage.pass(of: message.item.item.name)
        return try render(message.payload, message.item.item, message.item.context)
    }
}
