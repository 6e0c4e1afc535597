import ArgumentParser
import NocturneBatch
import NocturneCluster
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

struct Pause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Pause the run that is active on a batch.",
        discussion: """
            Nothing is started, and active items wait at their next tile or stage. The pause outlasts the run: after an interruption \
            `nocturne resume` begins with it. `nocturne continue` ends it. Signals, cancel and time limits end a paused run as any other.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Continue after this time, such as 90m or 2h.", valueName: "duration"),
        transform: DurationLimit.parse
    )
    var duration: DurationLimit?

    @Option(
        help: ArgumentHelp("Continue at the next such time of day, such as 18:00.", valueName: "time"),
        transform: WorkingHours.TimeOfDay.parse
    )
    var until: WorkingHours.TimeOfDay?

    @Flag(help: "Put active items back, so that their memory is free. Completed tiles are kept.")
    var releaseMemory = false

    func validate() throws {
        if duration != nil, until != nil { throw ValidationError("--for and --until cannot be combined.") }
        if let duration, duration.seconds == nil { throw ValidationError("--for needs a duration above 0.") }
    }

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        try folder.checkHoldsBatch()
        let now = Program.time.wallClock.seconds
        let end = duration?.seconds.map { now + $0 } ?? WorkingHours(finishBy: until).deadline(after: now)
        let pause = RunPause(since: now, until: end, releasesMemory: releaseMemory)
        let limit = end.map { " until \(WallTime(seconds: $0).localText)" } ?? ""
        let request = SentRequests(folder: folder, action: .pause(pause), what: "pause\(limit)")
        try await request.sendAndPrint(advice: "Continue with: nocturne continue \(folder.path)")
    }
}

struct Continue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "End the pause of a run, or that with which the next run of a batch would begin."
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        try folder.checkHoldsBatch()
        let divided = try await DividedBatch.read(folder)
        let isActive =
            BatchLock.state(of: folder).isHeld || divided?.shards.contains { $0.state == .running } ?? false
        var forgotten = false
        // Shards on which no run is active have pauses too.
        let idle = divided?.shards.filter { $0.state != .running }.map { folder.shard($0.plan.number) } ?? [folder]
        for place in idle where place.holdsBatch && !BatchLock.state(of: place).isHeld {
            forgotten = try await forgetPause(of: place) || forgotten
        }
        if isActive {
            return try await SentRequests(folder: folder, action: .endPause, what: "continue").sendAndPrint()
        }
        guard forgotten else {
            let detail = "no run is active on this batch, and none is paused; process what waits with: nocturne resume"
            throw BatchError(.notABatch, path: folder.path, detail: detail)
        }
        Terminal.printResult("The next run will not be paused: nocturne resume \(folder.path)")
    }

    /// - Returns: whether there was a pause.
    private func forgetPause(of folder: OutputFolder) async throws -> Bool {
        guard try await folder.reading({ try await $0.value(of: .pause) }) != nil else { return false }
        let lock = try BatchLock(folder)
        defer { withExtendedLifetime(lock) {} }
        try await Journal.with(path: folder.journal) { try await $0.remove(.pause) }
        return true
    }
}
