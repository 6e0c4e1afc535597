import ArgumentParser
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

struct Pause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
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
        // A further pause would replace the one of the pilot, and its end would start items without an approval.
        let present = try await folder.reading { try await $0.value(of: .pause) }
        if present?.awaitsApproval == true {
            let detail = "nothing is started before the pilot is approved: nocturne approve"
            throw BatchError(.notABatch, path: folder.path, detail: detail)
        }
        // Times as seconds since 1970, since the pause may outlast the run and the machine's uptime.
        let now = Program.time.wallClock.seconds
        let end = duration?.seconds.map { now + $0 } ?? WorkingHours(finishBy: until).deadline(after: now)
        let pause = RunPause(since: now, until: end, releasesMemory: releaseMemory)
        let limit = end.map { " until \(WallTime(seconds: $0).zonedText)" } ?? ""
        let request = SentRequests(folder: folder, action: .pause(pause), what: "pause\(limit)")
        try await request.sendAndPrint(advice: "Continue with: nocturne continue \(folder.argument)")
    }
}

struct Continue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "continue",
        abstract: "End the pause of an active run, or of the next one."
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    func run() async throws {
        try await PauseEnd(folder: OutputFolder(absolutePath(output)), approves: false).perform()
    }
}

struct Approve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "approve",
        abstract: "Approve the results of a pilot, so that the other items are processed.",
        discussion: """
            `nocturne run --pilot N --approve` waits for it, and so do later runs of the batch. Look at the items of the pilot on the \
            review page first.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    func run() async throws {
        try await PauseEnd(folder: OutputFolder(absolutePath(output)), approves: true).perform()
    }
}

/// The end of pauses of a batch: of its active runs, and of those with which the next ones would begin.
private struct PauseEnd {
    let folder: OutputFolder
    /// Whether a pilot is approved. Otherwise pauses end that users have asked for.
    let approves: Bool

    /// - Throws: `BatchError` where there is no such pause; `JournalError`.
    func perform() async throws {
        let shards = try await folder.shardPlan()?.shards
        // A shard without a journal has no pause that could be read.
        let places = shards?.map { folder.shard($0.number) }.filter(\.holdsBatch) ?? [folder]
        var (isActive, isForgotten, hasOther) = (false, false, false)
        // Shards have their own journals and runs.
        for place in places {
            let pause = try await place.reading { try await $0.value(of: .pause) }
            // Without a recorded pause only the end of a user's pause makes sense.
            let isOther = pause.map { $0.awaitsApproval != approves } ?? approves
            hasOther = hasOther || isOther && pause != nil
            if BatchLock.state(of: place).isHeld {
                // What a user has asked for may not be recorded yet.
                isActive = isActive || !isOther
            } else if pause != nil, !isOther {
                try await forgetPause(of: place)
                isForgotten = true
            }
        }
        if isActive {
            let action = approves ? ControlRequest.Action.approve : .endPause
            return try await SentRequests(folder: folder, action: action, what: "continue").sendAndPrint()
        }
        guard isForgotten else { throw BatchError(.notABatch, path: folder.path, detail: fact(hasOther: hasOther)) }
        // No run was active, so the items wait until somebody starts one.
        let end = approves ? "The pilot is approved; process the other items with" : "The next run will not be paused"
        try Terminal.printResult("\(end): \(folder.continuation)")
    }

    private func forgetPause(of place: OutputFolder) async throws {
        // No run may begin while its pause is removed.
        try await place.changing { journal in
            if approves { try await journal.approvePilot() } else { try await journal.remove(.pause) }
        }
    }

    private func fact(hasOther: Bool) -> String {
        switch (approves, hasOther) {
        case (true, true): "the batch is paused, and no pilot waits for approval; continue with: nocturne continue"
        case (true, false): "no pilot of this batch waits for approval; process what waits with: \(folder.continuation)"
        case (false, true): "the pilot waits for approval: look at \(folder.page), then continue with: nocturne approve"
        case (false, false):
            "no run is active on this batch, and none is paused; process what waits with: \(folder.continuation)"
        }
    }
}
