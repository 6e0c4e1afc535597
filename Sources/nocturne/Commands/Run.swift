import ArgumentParser
import Foundation
import NocturneBatch
import NocturneCluster
import NocturneInference
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

struct Run: EngineCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Process the inputs; continue the batch if the output folder already holds it.",
        discussion: """
            Example: nocturne run scans/ --model urinary-tract-ct --output results/

            On a cluster, `nocturne run OUT --shard K/N` processes one shard of a divided batch, which `nocturne plan --output` begins.
            """
    )

    @OptionGroup var batch: BatchArguments
    @OptionGroup(title: ShortHelp.title) var place: PlaceArguments
    @OptionGroup var resources: ResourceArguments
    @OptionGroup(title: ShortHelp.title) var attempts: AttemptArguments
    @OptionGroup(title: ShortHelp.title) var answer: ConsentArguments
    @OptionGroup(title: ShortHelp.title) var show: OutputArguments
    @OptionGroup(title: "Clusters") var cluster: TaskArguments
    @OptionGroup var process: ProcessArguments

    /// Where results are written.
    struct PlaceArguments: ParsableArguments {
        @Option(name: [.short, .long], help: "The folder for the results.", completion: .directory)
        var output: String?
    }

    /// About tasks of a cluster.
    struct TaskArguments: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Process this shard of a divided batch; give the folder of the batch as the input. auto: the shard whose number is the index of this task in a job array.",
                valueName: "k/n|auto",
                visibility: .more
            ),
            transform: ShardChoice.parse
        )
        var shard: ShardChoice?

        @Flag(
            help: ArgumentHelp(
                "With --shard in Slurm: put the task back into the queue when items wait at its end.",
                visibility: .more
            )
        )
        var requeue = false

        @Flag(
            help: ArgumentHelp(
                "Exit with 0 instead of 3 when some items failed, so that the scheduler does not repeat the task.",
                visibility: .more
            )
        )
        var failedItemsOk = false
    }

    private var output: String? { place.output }
    private var shard: ShardChoice? { cluster.shard }
    /// A dry run reads the batch and the inputs only, so this process does it without an engine.
    var needsEngine: Bool { !attempts.dryRun }
    /// Whether the list comes through standard input, which is then kept in memory for an engine after a crash.
    var keepsInput: Bool { batch.selection.list == "-" }
    var lacksInput: Bool { batch.lacksInput }
    var retries: RetrySelection { attempts.retries }
    /// None for a shard, since the plan has fixed everything that affects results.
    var consent: ChangeConsent? { shard == nil ? answer.consent(list: batch.selection.list) : nil }

    /// A shard continues with the description in its own folder.
    func description() async throws -> BatchDescription {
        try await shard == nil ? batch.description(continuing: folder) : ExistingBatch.continued(folder)
    }

    /// The folder of the results; with `--shard` that of the shard, which lies in the folder of the divided batch.
    /// The number 0 is not used: ``validate()`` refuses `auto` where the environment names no task.
    var folder: OutputFolder {
        guard shard != nil else { return OutputFolder(absolutePath(output ?? "")) }
        return OutputFolder(absolutePath(batch.inputs.first ?? "")).shard(shard?.task?.shard ?? 0)
    }

    func validate() throws {
        guard let shard else {
            if output == nil { throw ValidationError("Missing expected argument '--output <output>'") }
            if output?.isEmpty == true { throw ValidationError("--output is empty: name a folder.") }
            if cluster.requeue { throw ValidationError("--requeue is for --shard.") }
            return
        }
        // With --shard the folder is given as the input: it exists already, so --output would have a second meaning.
        guard output == nil, !attempts.dryRun, !answer.yes else { throw Self.shardUsage }
        // The plan has fixed inputs, models and options; a task gives only what changes no result.
        let planned = batch.given + (resources.attachments.norms == nil ? [] : ["--norms"])
        guard planned.isEmpty else {
            throw ValidationError(
                "\(planned.joined(separator: ", ")): the plan of the batch has fixed this for all shards; leave it out"
            )
        }
        guard shard.task != nil else {
            throw ValidationError("--shard auto is for tasks of job arrays: this environment names no task.")
        }
    }

    private static var shardUsage: ValidationError {
        ValidationError("--shard takes the output folder of a divided batch: nocturne run OUT --shard K/N")
    }

    func check() throws {
        if shard == nil { return try batch.check() }
        // Not in `validate()`: the parser calls it before it refuses an unknown option, whose value it takes as an input.
        guard batch.inputs.count == 1 else { throw Self.shardUsage }
        // When the task ends is asked before it does.
        if cluster.requeue { _ = Self.slurm }
    }

    /// The task of Slurm that this process is, and when it began.
    private static let slurm = (
        task: Slurm.Task(environment: ProcessInfo.processInfo.environment), start: Program.time.wallClock.seconds
    )

    func exitCode(after code: NocturneExit) -> NocturneExit {
        switch code {
        // A scheduler that sees 3 may repeat the task, and the same items would fail again.
        case .someFailed: cluster.failedItemsOk ? .allCompleted : code
        // These are only for the supervisor in this process; what is documented for users and schedulers is 75.
        case .unsuitableMachine, .tripped, .cannotContinue: .stoppedEarly
        default: code
        }
    }

    func engineEnded(with code: NocturneExit) {
        // Read once, so that all decisions are about the same moment.
        let (now, isElsewhere) = (Program.time.wallClock.seconds, code == .unsuitableMachine)
        guard cluster.requeue, let task = Self.slurm.task,
            // A person is to look at the batch first.
            code != .tripped,
            task.requeues(
                after: exitCode(after: code).rawValue,
                seconds: now - Self.slurm.start,
                at: now,
                isElsewhere: isElsewhere
            )
        else { return }
        Terminal.printUrgently("items wait: the task is put back into the queue")
        let reason: Slurm.TaskStarts.Reason =
            isElsewhere ? .unsuitableMachine : task.isNearEnd(at: now) ? .timeLimit : .other
        // Recorded first: Slurm ends this process once it has put the task back.
        Slurm.TaskStarts.record(for: folder) { $0.putBack(reason) }
        // Otherwise Slurm could choose the same machine again, and the task would use up its restarts there.
        let node = isElsewhere ? ProcessInfo.processInfo.environment["SLURMD_NODENAME"] : nil
        // Items wait all the same: the exit code stays that of the run, and a user can submit again.
        do { try task.requeue(excluding: node) } catch { Terminal.printUrgently("\(error)") }
    }

    func run() async throws {
        if attempts.dryRun {
            // Read from the existing batch, so that the preview also shows what continuing it would change.
            let held = try await PlannedBatch.read(folder)
            try await Plan.show(
                try batch.description(
                    version: Program.version,
                    continuing: held.description,
                    report: Terminal.printMessage
                ),
                resources: resources,
                existing: PlanReport.Existing(held, retries: retries),
                json: show.json
            )
            return
        }
        if shard != nil { return try await runShard() }
        try await processBatch { request in
            request.isChangeConfirmed = answer.yes
        }
    }

    private func runShard() async throws {
        let environment = ProcessInfo.processInfo.environment
        // Of the whole batch, from the folder above the shard.
        guard let plan = try await folder.whole.shardPlan() else { throw BatchError.notDivided(folder.whole) }
        if let task = shard?.task {
            // The script of an earlier division may give a number, or a count of shards, that this plan does not have.
            try task.check(plan, folder.whole)
            try await DividedBatch.Shard(plan.shards[task.shard - 1], of: folder.whole).checkIsThere(folder.whole)
        }
        let slurmTask = Slurm.Task(environment: environment)
        // Not for an engine that was started again after a crash.
        if let slurmTask, ProcessHandover.toEngine?.previousEnd == nil {
            Slurm.TaskStarts.record(for: folder) { $0.begin(slurmTask) }
        }
        // Before any item: results of one batch are to be bit-identical whichever machine made them.
        try plan.checkArithmetic(
            version: Program.version,
            isAvailable: { InstructionSets.isAvailable($0, environment: environment) },
            folder.whole
        )
        do {
            // What Slurm would end is not started; a minute is for the end of what is active.
            try await processBatch { $0.deadline = slurmTask?.end.map { $0 - 60 } }
        } catch let error as BatchError where error.code == .outputInUse {
            // A task that was started again while the first one is still active: it can be tried later.
            Terminal.printError("\(error)")
            throw NocturneExit.stoppedEarly
        }
    }
}

/// A shard by its number, or by the task of a job array.
struct ShardChoice: OptionValue {
    static var allowed: String { "K/N with K from 1 to N, such as 2/8, or auto" }

    /// Nil where the environment names none.
    let task: Slurm.ArrayTask?

    init?(argument: String) {
        if argument == "auto" {
            task = Slurm.ArrayTask(environment: ProcessInfo.processInfo.environment)
        } else if let task = Slurm.ArrayTask(argument) {
            self.task = task
        } else {
            return nil
        }
    }
}
