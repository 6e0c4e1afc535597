import Dispatch
import Foundation
import NocturnePipeline
import NocturneRecipes
import Synchronization

/// The engine's own process: runs the batch, and turns signals into cancellation.
enum EngineProcess {
    /// Everything a run needs, whichever command asked for it.
    struct Request {
        var output: OutputFolder
        var description: BatchDescription
        var resources: ResourceArguments
        var show: OutputArguments
        var retryFailed = false
        var overwrite = false
        var failFast = false
    }

    /// Runs to the end and says how it went.
    /// - Throws: ``NocturneExit`` unless all items completed.
    static func run(_ request: Request) async throws {
        let control = RunControl()
        let signals = SignalWatch(control: control, output: request.output)
        defer { withExtendedLifetime(signals) {} }
        let recipe = try LoadedModels.recipe(request.description)
        try request.output.create()
        let progress = ProgressReporter(
            path: request.output.events,
            view: Terminal.view(json: request.show.json, quiet: request.show.quiet)
        )
        let options = BatchOptions(
            output: request.output,
            description: request.description,
            threads: try request.resources.width(),
            memoryBytes: try request.resources.memoryBytes(),
            retryFailed: request.retryFailed,
            overwrite: request.overwrite,
            failFast: request.failFast,
            previousDeath: ProcessInfo.processInfo.environment[Supervisor.deathVariable]
        )
        let start = Date()
        let outcome: BatchOutcome
        do {
            outcome = try await BatchEngine(recipe: recipe, options: options, control: control, progress: progress)
                .run()
        } catch {
            await progress.close()
            if let signal = signals.received { throw signal == SIGINT ? NocturneExit.interrupted : .terminated }
            throw error
        }
        let code = NocturneExit(outcome, signal: signals.received)
        if !request.show.quiet && !request.show.json {
            Terminal.say(
                AccountText.summary(outcome.counts, output: request.output, seconds: -start.timeIntervalSinceNow)
            )
            if code == .interrupted || code == .terminated || code == .stoppedEarly {
                Terminal.say("Go on with: nocturne resume \(request.output.path)")
            }
        }
        if code != .allCompleted { throw code }
    }
}

/// Signals, as they come: the first asks to stop, the second stops.
final class SignalWatch: @unchecked Sendable {
    // Unchecked: sources are made in init and only kept alive afterwards; the signal number has a lock of its own.
    private var sources: [any DispatchSourceSignal] = []
    private let first = Mutex<Int32?>(nil)

    /// The first signal that asked to stop.
    var received: Int32? { first.withLock { $0 } }

    init(control: RunControl, output: OutputFolder) {
        let queue = DispatchQueue(label: "nocturne.signals")
        func watch(_ number: Int32, _ action: @escaping @Sendable () -> Void) {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler(handler: action)
            source.resume()
            sources.append(source)
        }
        for number in [SIGINT, SIGTERM, SIGHUP] {
            watch(number) { [self] in
                let again = first.withLock { first in
                    defer { first = first ?? number }
                    return first != nil
                }
                // Every file is either whole or not there, and the journal is right at any moment.
                if again { _exit(number == SIGINT ? 130 : 143) }
                control.cancel()
            }
        }
        watch(SIGUSR1) { control.drain() }
        watch(SIGUSR2) { ControlRequests.take(from: output, control) }
    }
}
