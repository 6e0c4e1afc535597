import ArgumentParser
import Foundation
import NocturneCluster
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem

struct Submit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Have Slurm process the shards of a divided batch.",
        discussion: """
            Submits an array of tasks to Slurm, one for each shard that is neither finished nor running, and a job that \
            merges afterwards. Everything after -- goes to sbatch for the array, account, partition and QOS for both jobs.
            """
    )

    @Argument(help: "The batch's output folder, which all machines reach by the same path.", completion: .batch)
    var output: String

    @Flag(help: "Print the scripts, and have Slurm check them, without submitting.")
    var dryRun = false

    @Option(help: "Tasks at a time. Default: no limit.")
    var tasks: Int?

    @Option(
        name: [.customShort("j"), .long],
        help: "Compute threads of a task. Default: as planned.",
        transform: Int.threadCount
    )
    var threads: Int?

    @Option(
        help: ArgumentHelp(
            "Prepare results in this folder on a local disk of each machine, such as '$TMPDIR'.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var work: String?

    @Option(help: "The program on the machines of the cluster. Default: this one.")
    var program: String?

    @Argument(parsing: .postTerminator, help: "Options of sbatch, after --.")
    var sbatch: [String] = []

    func validate() throws {
        if let tasks, tasks < 1 { throw ValidationError("--tasks must be at least 1.") }
    }

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        guard let batch = try await DividedBatch.read(folder) else { throw BatchError.notDivided(folder) }
        var job = Slurm.Job(
            program: program ?? Program.path,
            output: folder,
            plan: batch.plan,
            // Running shards have a task already; the journal of a lost one is missing or damaged.
            shards: batch.shards.filter { $0.state == .waiting || $0.state == .stopped }.map(\.plan.number),
            threads: threads ?? batch.plan.threads
        )
        job.mostTasks = tasks
        job.work = work
        guard !job.shards.isEmpty else {
            let open = batch.open.map { "\($0.plan.number) (\($0.state.rawValue))" }.joined(separator: ", ")
            let text = open.isEmpty ? "All shards are finished" : "Shards that are not finished: \(open)"
            return try Terminal.printResult(text + ". Nothing was submitted. Next: nocturne merge \(folder.argument)")
        }
        // Slurm does not make the folder of its logs. Only the user may read it: logs name inputs.
        try FileSystem.makeFolder(folder.taskLogs, mode: 0o700)
        if dryRun { try show(job) } else { try await submit(job) }
    }

    /// Prints both scripts with their options, then what Slurm finds wrong with the array.
    /// - Throws: ``NocturneExit/usage`` where Slurm refuses it.
    private func show(_ job: Slurm.Job) throws {
        for (options, script) in [
            (job.options + sbatch, job.script), (job.mergeOptions(after: sbatch), job.mergeScript),
        ] {
            try Terminal.printResult("sbatch " + options.map(ShellWord.quoted).joined(separator: " ") + "\n" + script)
        }
        do {
            // `sbatch --test-only`, with the user's options.
            try Terminal.printResult(try Slurm.test(job.script, job.options + sbatch))
        } catch let error as BatchError {
            Terminal.printMessage("\(error)")
            throw NocturneExit.usage
        }
    }

    private func submit(_ job: Slurm.Job) async throws {
        let array = try await Slurm.submit(job.script, job.options + sbatch, Program.time)
        // Printed before the second job is submitted: if that fails, the user still has the number of the first.
        let first = Result {
            try Terminal.printResult(
                "Job \(array) processes \(counted(job.shards.count, "shard")). Logs: \(job.output.taskLogs)"
            )
        }
        let merge = try await submitMerge(of: job, after: array)
        // Only now: the first job needs the second one, also where its number cannot be printed.
        try first.get()
        try Terminal.printResult(
            "Job \(merge) merges afterwards. Follow both with: nocturne status --refresh \(job.output.argument)"
        )
    }

    /// - Returns: the number of the job.
    private func submitMerge(of job: Slurm.Job, after array: String) async throws -> String {
        do {
            // The user's options first: of two values the later one counts. `afterany`, since after a task that fails the other
            // dependencies would never be met.
            return try await Slurm.submit(
                job.mergeScript,
                job.mergeOptions(after: sbatch) + ["--dependency=afterany:\(array)"],
                Program.time
            )
        } catch let error as BatchError {
            let detail =
                "the job that merges was not submitted: \(error). Once job \(array) has ended, use "
                + "`nocturne merge \(job.output.argument)`"
            throw BatchError(error.code, path: "", detail: detail, systemCode: error.systemCode)
        }
    }
}

extension BatchError {
    static func notDivided(_ folder: OutputFolder) -> BatchError {
        BatchError(
            .notAShard,
            path: folder.path,
            detail:
                "this batch is not divided into shards. `nocturne plan … --output \(folder.argument) --shards auto` begins a "
                + "batch that is"
        )
    }
}
