import ArgumentParser
import NocturneBatch
import NocturneCluster
import NocturneConcurrency
import NocturneRecipes
import NocturneSystem

struct Submit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Have a cluster process the shards of a divided batch.",
        discussion: """
            With --slurm, submits an array of tasks, one for each shard that is neither finished nor running, and a job that \
            merges afterwards. With --kubernetes, prints the manifest of an indexed Job. Everything after -- goes to sbatch.
            """
    )

    @Argument(help: "The batch's output folder, which all machines reach by the same path.", completion: .batch)
    var output: String

    @Flag(help: "Submit to Slurm.")
    var slurm = false

    @Option(help: ArgumentHelp("Print a Job of Kubernetes for this container image.", valueName: "image"))
    var kubernetes: String?

    @Flag(help: "Print the scripts, and have Slurm check them, without submitting.")
    var dryRun = false

    @Option(help: "Tasks at a time. Default: no limit (Slurm), 8 (Kubernetes).")
    var tasks: Int?

    @Option(
        name: [.customShort("j"), .long],
        help: "Compute threads of a task. Default: as planned.",
        transform: ThreadCount.parse
    )
    var threads: ThreadCount?

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

    @Argument(parsing: .postTerminator, help: "Options of sbatch for the array, after --.")
    var sbatch: [String] = []

    func validate() throws {
        guard slurm != (kubernetes != nil) else { throw ValidationError("Give either --slurm or --kubernetes IMAGE.") }
        if let tasks, tasks < 1 { throw ValidationError("--tasks must be at least 1.") }
    }

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        guard let batch = try await DividedBatch.read(folder) else { throw BatchError.notDivided(folder) }
        var job = SlurmJob(
            program: program ?? ProgramPath.own,
            output: folder,
            plan: batch.plan,
            shards: batch.shards.filter { $0.state == .waiting || $0.state == .stopped }.map(\.plan.number),
            threads: threads?.count ?? batch.plan.threads
        )
        job.mostTasks = tasks
        job.work = work
        if let kubernetes {
            let description = try await ExistingBatch.description(of: folder)
            let manifest = KubernetesJob(job, image: kubernetes)
            return Terminal.printResult(manifest.manifest(inputs: description.inputs + description.modelPaths))
        }
        guard !job.shards.isEmpty else {
            let running = batch.shards.filter { $0.state == .running }.count
            let text =
                running == 0 ? "All shards are finished: use `nocturne merge`." : "\(running) shards are running."
            return Terminal.printResult(text + " Nothing was submitted.")
        }
        try FileSystem.makeFolder(folder.taskLogs, mode: 0o700)
        if dryRun { try show(job) } else { try await submit(job) }
    }

    private func show(_ job: SlurmJob) throws {
        Terminal.printResult(job.script)
        Terminal.printResult(job.mergeScript)
        do {
            Terminal.printResult(try Slurm().test(job.script, sbatch))
        } catch let error as BatchError {
            Terminal.printMessage("\(error)")
            throw NocturneExit.usage
        }
    }

    private func submit(_ job: SlurmJob) async throws {
        let slurm = Slurm(time: Nocturne.time)
        let array = try await slurm.submit(job.script, sbatch)
        let shards = job.shards.count == 1 ? "1 shard" : "\(job.shards.count) shards"
        Terminal.printResult("Job \(array) processes \(shards). Logs: \(job.output.taskLogs)")
        // Whatever becomes of the tasks: after a failure the other dependencies would never be met.
        let merge = try await slurm.submit(job.mergeScript, ["--dependency=afterany:\(array)"])
        Terminal.printResult(
            "Job \(merge) merges afterwards. Follow both with: nocturne status --follow \(job.output.path)"
        )
    }
}

extension BatchError {
    static func notDivided(_ folder: OutputFolder) -> BatchError {
        BatchError(
            .notAShard,
            path: folder.path,
            detail:
                "this batch is not divided into shards. `nocturne plan … --output \(folder.path) --shards auto` begins a "
                + "batch that is"
        )
    }
}
