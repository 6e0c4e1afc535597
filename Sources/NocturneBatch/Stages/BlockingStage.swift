import NocturneConcurrency
import NocturneSystem

/// A stage whose work may wait for the disk: reading and writing. It is done on threads that may.
actor BlockingStage<Input: Sendable, Output: Sendable>: StageActor {
    /// Is called with an item and the time of the gate at which its work began.
    typealias Body = @Sendable (StageMessage<Input>, _ begun: Duration) throws -> Output

    nonisolated let link: StageLink<Input, Output>
    nonisolated let workers: Int
    private let body: Body

    init(_ link: StageLink<Input, Output>, workers: Int, _ body: @escaping Body) {
        (self.link, self.workers, self.body) = (link, workers, body)
    }

    func work(on message: StageMessage<Input>) async throws -> Output {
        let begun = link.environment.gate.workTime
        return try await link.environment.blocking.run { [body] in
            try FaultPoint.stage.pass(of: message.item.item.name)
            return try body(message, begun)
        }
    }
}
