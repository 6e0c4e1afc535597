import NocturneConcurrency
import NocturneSystem

/// A stage that keeps the sessions of networks from item to item.
protocol SessionOwner: Actor {
    func freeSessions()
}

/// Runs the network over an item, tile by tile: between tiles it pauses under memory pressure, stops, and checkpoints.
///
/// It owns what must not be shared: the sessions of the networks, which it keeps from item to item. Its jobs run on the compute
/// pool, one at a time, so they and the running inference need no lock and are used by nobody else.
actor TiledInference<Prepared: Sendable, Sessions, Run: InferenceRun>: StageActor, SessionOwner {
    typealias Start = @Sendable (Sessions, consuming Prepared, RecipeItem, StageContext) throws -> Run

    nonisolated let link: StageLink<Prepared, Run.Inferred>
    private let makeSessions: @Sendable () -> Sessions
    private var sessions: Sessions
    private let start: Start
    private let executor: PoolSerialExecutor
    /// The number of tiles of an item that are timed, for the deadline.
    private static var timedSteps: Int { 2 }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(
        _ link: StageLink<Prepared, Run.Inferred>,
        sessions: @escaping @Sendable () -> Sessions,
        start: @escaping Start
    ) {
        self.link = link
        makeSessions = sessions
        self.sessions = sessions()
        self.start = start
        executor = link.environment.pool.serialExecutor()
    }

    /// An item that waits between two tiles keeps those that it began with.
    func freeSessions() { sessions = makeSessions() }

    func work(on message: StageMessage<Prepared>) async throws -> Run.Inferred {
        let item = message.item
        try FaultPoint.stage.pass(of: item.item.name)
        // Only here: an item that waits for another one must not be the oldest that all wait for.
        let ticket = link.environment.gate.register(sequence: item.sequence)
        defer { ticket.unregister() }
        do {
            return try await infer(message, ticket)
        } catch let fault as any RepeatableFault {
            await link.environment.receiver.doubt(fault.doubted, because: "\(fault)")
            return try await infer(message, ticket)
        }
    }

    private func infer(_ message: StageMessage<Prepared>, _ ticket: PressureGate.Ticket) async throws -> Run.Inferred {
        let item = message.item
        let run = try measured { try start(sessions, message.payload, item.item, item.context) }
        do {
            while run.stepsDone < run.stepCount { try await inferTile(of: item, run, ticket) }
            return try measured { try run.finish(item.context) }
        } catch {
            if item.flag.isCancelled { try? run.checkpoint(force: true, item.context) }
            throw error
        }
    }

    private func inferTile(of item: ActiveItem, _ run: Run, _ ticket: PressureGate.Ticket) async throws {
        let environment = link.environment
        try await environment.gate.pass(ticket, flag: item.flag)
        try item.flag.check()
        try FaultPoint.tile.pass()
        let (begin, before) = (environment.time.monotonic, run.stepsDone)
        try measured { try run.step(item.context) }
        if before < Self.timedSteps, environment.receiver.usesStepTimes {
            let seconds = (environment.time.monotonic - begin).inSeconds
            await environment.receiver.stepTimed(item.id, seconds: seconds / Double(max(run.stepsDone - before, 1)))
        }
        try run.checkpoint(force: false, item.context)
        environment.stalls?.moved(item.id)
        await environment.progress.stepped(item.id, done: run.stepsDone, of: run.stepCount)
    }

    /// While this stage waits, so does a device.
    private func measured<Result>(_ body: () throws -> Result) rethrows -> Result {
        let (time, device) = (link.environment.time, link.environment.device)
        let begin = time.monotonic
        defer { device.add(inference: time.monotonic - begin) }
        return try body()
    }
}
