import ArgumentParser
import CPosix
import Foundation
import NocturneBatch
import NocturneCore
import NocturneRecipes
import NocturneSystem
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
        /// How new inputs are waited for; nil for the inputs as they are.
        var watch: FolderWatcher?
    }

    /// Runs to the end and says how it went.
    /// - Throws: ``NocturneExit`` unless all items completed.
    static func run(_ request: Request) async throws {
        cposix_keep_heap_small()
        let previousDeath = ProcessInfo.processInfo.environment[Supervisor.deathVariable]
        if let words = try request.resources.faultWords() {
            do {
                try FaultInjection.arm(words, isRestart: previousDeath != nil)
            } catch {
                throw ValidationError("\(error)")
            }
        }
        let control = RunControl()
        let signals = SignalHandler(control: control, output: request.output)
        let (recipes, loadedBytes) = try LoadedModels.measuredRecipes(request.description)
        let progress = ProgressReporter(
            path: request.output.events,
            view: Terminal.view(json: request.show.json, quiet: request.show.quiet)
        )
        let options = BatchOptions(
            output: request.output,
            description: request.description,
            threads: try request.resources.width(),
            memoryBytes: try request.resources.memoryBytes(),
            // What failed in this very run is not tried again because the engine had to be started anew.
            retryFailed: request.retryFailed && previousDeath == nil,
            overwrite: request.overwrite,
            failFast: request.failFast,
            onFull: try request.resources.fullDiskPolicy(),
            watch: request.watch,
            hours: try request.resources.workingHours(),
            stall: try request.resources.stallPolicy(action: EngineProcess.endStalled),
            previousDeath: previousDeath,
            loadedBytes: loadedBytes,
            supervisor: ProcessInfo.processInfo.environment[Supervisor.childVariable],
            lock: ProcessInfo.processInfo.environment[Supervisor.lockVariable].flatMap { Int32($0) }
        )
        let start = Date()
        let outcome: BatchOutcome
        signals.batchBegins(progress)
        ControlRequests.take(from: request.output, control)
        do {
            outcome = try await BatchEngine(recipes: recipes, options: options, control: control, progress: progress)
                .run()
        } catch {
            await progress.close()
            if let signal = signals.received { throw signal == SIGINT ? NocturneExit.interrupted : .terminated }
            throw error
        }
        let code = NocturneExit(outcome.counts, mode: outcome.mode, signal: signals.received, givenUp: outcome.givenUp)
        if !request.show.quiet && !request.show.json {
            Terminal.say(
                SummaryText.summary(outcome.counts, output: request.output, seconds: -start.timeIntervalSinceNow)
            )
            if code == .interrupted || code == .terminated || code == .stoppedEarly {
                Terminal.say("Go on with: nocturne resume \(request.output.path)")
            }
        }
        if code != .allCompleted { throw code }
    }
}

extension EngineProcess {
    /// Ends this process so that its parent knows why.
    private static func endStalled(_ words: String) {
        Terminal.error(words)
        signal(SIGALRM, SIG_DFL)
        kill(getpid(), SIGALRM)
    }
}

/// Signals, as they come: the first asks to stop, the second stops.
final class SignalHandler: Sendable {
    private struct State {
        var first: Int32?
        var moment: ContinuousClock.Instant?
        var progress: ProgressReporter?
    }
    private let state = Mutex(State())

    /// The first signal that asked to stop.
    var received: Int32? { state.withLock { $0.first } }

    init(control: RunControl, output: OutputFolder) {
        // Under nohup a hang-up is to be ignored, and stays so.
        let stops = Supervisor.ignoresHangUp ? [SIGINT, SIGTERM] : [SIGINT, SIGTERM, SIGHUP]
        if Supervisor.ignoresHangUp { signal(SIGHUP, SIG_IGN) }
        SignalListener.start(stops + [SIGUSR1, SIGUSR2]) { [self] number in
            switch number {
            case SIGUSR1:
                control.drain()
                let progress = state.withLock { $0.progress }
                Task { await progress?.note("Finishing what is in flight; nothing new is begun.") }
            case SIGUSR2: ControlRequests.take(from: output, control)
            default: stop(control, number)
            }
        }
    }

    private func stop(_ control: RunControl, _ number: Int32) {
        let now = ContinuousClock.now
        let (again, echo, progress) = state.withLock { state in
            // Service managers signal every process of a group, and the parent hands its own on: one wish.
            let echo = state.moment.map { now - $0 < .milliseconds(300) } ?? false
            defer {
                state.first = state.first ?? number
                state.moment = state.moment ?? now
            }
            return (state.first != nil, echo, state.progress)
        }
        if echo { return }
        // Every file is either whole or not there, and the journal is right at any moment. Before the batch has begun
        // there is nothing to put away.
        guard !again, let progress else { _exit(number == SIGINT ? 130 : 143) }
        control.cancel()
        leave(after: SignalHandler.patience, number)
        Task {
            await progress.note("Stopping: what is in flight is kept as far as it got. Once more to leave at once.")
        }
    }

    /// Seconds for what is in flight to stop: it takes less than one, unless it hangs in a read.
    private static let patience = 10.0

    /// A read from a share that is gone cannot be stopped, and must not hold up who shuts the machine down.
    private func leave(after seconds: Double, _ number: Int32) {
        let thread = Thread {
            Thread.sleep(forTimeInterval: seconds)
            Terminal.error("something in flight does not stop; leaving without it. The journal is right.")
            _exit(number == SIGINT ? 130 : 143)
        }
        thread.name = "nocturne.leave"
        thread.start()
    }

    /// From now on the first signal stops the batch instead of the process.
    func batchBegins(_ progress: ProgressReporter) { state.withLock { $0.progress = progress } }
}
