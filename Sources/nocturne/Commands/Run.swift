import ArgumentParser
import Foundation
import NocturneBatch
import NocturneCluster
import NocturneInference
import NocturneJournal
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

struct Run: EngineCommand {
    static let configuration = CommandConfiguration(
        abstract: "Process the inputs; continue the batch if the output folder already holds it.",
        discussion: """
            `nocturne run OUT --shard K/N` processes one shard of a divided batch, which `nocturne plan --output` begins.
            """
    )

    @OptionGroup var batch: BatchArguments
    @OptionGroup var resources: ResourceArguments
    @OptionGroup var profile: ProfileArguments
    @OptionGroup var show: OutputArguments
    @OptionGroup var consentArguments: ConsentArguments

    @Option(name: [.short, .long], help: "The folder for the results.", completion: .directory)
    var output: String?

    @Option(
        help: ArgumentHelp(
            "Process this shard of the divided batch in the folder given as input; auto for the task of a job array.",
            valueName: "k/n|auto"
        )
    )
    var shard: ShardChoice?

    @Flag(help: "With --shard in Slurm: put the task back into the queue when items wait at its end.")
    var requeue = false

    @Flag(help: "Exit with 0 instead of 3 when some items failed, for schedulers that would repeat the task.")
    var failedItemsOk = false

    @Flag(help: "Show what would be done, or is left to be done, without processing or writing anything.")
    var dryRun = false

    @Flag(help: "Try failed, cancelled and quarantined items again.")
    var retryFailed = false

    @Flag(help: "Continue the batch with different options; results that they affect are made again.")
    var overwrite = false

    @Flag(help: "Stop at the first item that fails.")
    var failFast = false

    var needsEngine: Bool { !dryRun }
    var keepsInput: Bool { batch.list == "-" }
    var retries: RetrySelection { retryFailed ? .all : .none }

    /// What can be read once, such as a list from a pipe, is left to the engine.
    var consent: ChangeConsent? {
        guard shard == nil, batch.list.map({ FileSystem.kind($0) == .file }) ?? true else { return nil }
        return ChangeConsent(isGiven: overwrite || consentArguments.yes, mayAsk: !consentArguments.yes)
    }

    func description() async throws -> BatchDescription {
        // Of the engine before this one: it may have read a list that can be read once.
        if let started = try await ExistingBatch.startedByThisRun(folder) { return started }
        return try batch.description(version: Nocturne.version) { text in
            if !ChangePreview.isThisProcess { Terminal.printMessage(text) }
        }
    }

    var folder: OutputFolder {
        guard shard != nil else { return OutputFolder(absolutePath(output ?? "")) }
        return OutputFolder(absolutePath(batch.inputs.first ?? "")).shard(shard?.task?.shard ?? 0)
    }

    func validate() throws {
        guard let shard else {
            if output == nil { throw ValidationError("Missing expected argument '--output <output>'") }
            if output?.isEmpty == true { throw ValidationError("--output is empty: name a folder.") }
            if requeue { throw ValidationError("--requeue is for --shard.") }
            return
        }
        guard output == nil, batch.inputs.count == 1, !dryRun, !overwrite else {
            throw ValidationError("--shard takes the output folder of a divided batch: nocturne run OUT --shard K/N")
        }
        guard batch.given.isEmpty else {
            throw ValidationError(
                "\(batch.given.joined(separator: ", ")): the plan of the batch has fixed this for all shards; leave it out"
            )
        }
        guard shard.task != nil else {
            throw ValidationError("--shard auto is for tasks of job arrays: this environment names no task.")
        }
    }

    func check() throws {
        if shard == nil { return try batch.check() }
        // When the task ends is asked before it does.
        if requeue { _ = Self.slurm }
    }

    /// The task of Slurm that this process is, and when it began.
    private static let slurm = (
        task: SlurmTask(environment: ProcessInfo.processInfo.environment), start: Nocturne.time.wallClock.seconds
    )

    func exitCode(after code: NocturneExit) -> NocturneExit {
        switch code {
        case .someFailed: failedItemsOk ? .allCompleted : code
        case .unsuitableMachine: .stoppedEarly
        default: code
        }
    }

    func engineEnded(with code: NocturneExit) {
        let (now, isElsewhere) = (Nocturne.time.wallClock.seconds, code == .unsuitableMachine)
        guard requeue, let task = Self.slurm.task,
            task.requeues(
                after: exitCode(after: code).rawValue,
                seconds: now - Self.slurm.start,
                at: now,
                isElsewhere: isElsewhere
            )
        else { return }
        Terminal.printUrgently("items wait: the task is put back into the queue")
        let reason: TaskStarts.Reason =
            isElsewhere ? .unsuitableMachine : task.isNearEnd(at: now) ? .timeLimit : .other
        TaskStarts.record(for: folder) { $0.putBack(reason) }
        let node = isElsewhere ? ProcessInfo.processInfo.environment["SLURMD_NODENAME"] : nil
        do { try task.requeue(excluding: node) } catch { Terminal.printUrgently("\(error)") }
    }

    func run() async throws {
        if dryRun {
            try await Plan.show(
                try batch.description(version: Nocturne.version, say: Terminal.printMessage),
                resources: resources,
                existing: PlanReport.Existing(try await RecordedItems.read(folder), retries: retries),
                json: show.json
            )
            return
        }
        if shard != nil { return try await runShard() }
        try await EngineProcess.run(
            EngineProcess.Request(
                output: folder,
                description: try await description(),
                resources: resources,
                show: show,
                retries: retries,
                overwrite: overwrite || consentArguments.yes,
                failFast: failFast
            )
        )
    }

    private func runShard() async throws {
        let environment = ProcessInfo.processInfo.environment
        guard let plan = try await folder.whole.shardPlan() else { throw BatchError.notDivided(folder.whole) }
        if let task = shard?.task { try task.check(plan, folder.whole) }
        let slurmTask = SlurmTask(environment: environment)
        // Not for an engine that was started again after a crash.
        if let slurmTask, ProcessHandover.toEngine?.previousEnd == nil {
            TaskStarts.record(for: folder) { $0.begin(slurmTask) }
        }
        try plan.checkArithmetic(
            version: Nocturne.version,
            isAvailable: { InstructionSets.isAvailable($0, environment: environment) },
            folder.whole
        )
        var request = EngineProcess.Request(
            output: folder,
            description: try await ExistingBatch.continued(folder),
            resources: resources,
            show: show,
            retries: retries,
            failFast: failFast
        )
        // What Slurm would end is not started; a minute is for the end of what is active.
        request.deadline = slurmTask?.end.map { $0 - 60 }
        do {
            try await EngineProcess.run(request)
        } catch let error as BatchError where error.code == .outputInUse {
            // A task that was started again while the first one is still active: it can be tried later.
            Terminal.printError("\(error)")
            throw NocturneExit.stoppedEarly
        }
    }
}

/// A shard by its number, or by the task of a job array.
struct ShardChoice: ExpressibleByArgument {
    /// Nil where the environment names none.
    let task: ArrayTask?

    init?(argument: String) {
        if argument == "auto" {
            task = ArrayTask(environment: ProcessInfo.processInfo.environment)
        } else if let task = ArrayTask(argument) {
            self.task = task
        } else {
            return nil
        }
    }
}
