import NocturneBatch
import NocturneCluster
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Scripts and answers of Slurm")
struct SlurmTests {
    private func job(_ path: String = "/share/out put") -> Slurm.Job {
        let plan = ShardPlan(
            shards: (1...4).map { .init(number: $0, items: 10, seconds: 1200 * Double($0), bytes: $0 << 30) },
            version: "1",
            instructionSet: "avx2",
            threads: 8
        )
        return Slurm.Job(
            program: "/opt/nocturne",
            output: OutputFolder(path),
            plan: plan,
            shards: [1, 2, 4],
            threads: 8
        )
    }

    @Test("the script asks for what the plan predicts")
    func script() throws {
        var job = job()
        job.mostTasks = 2
        let lines = job.script.split(separator: "\n").map(String.init)
        #expect(lines.contains("#SBATCH --array=1-2,4%2"))
        #expect(lines.contains("#SBATCH --requeue") && lines.contains("#SBATCH --signal=B:USR1@120"))
        #expect(lines.contains("#SBATCH --cpus-per-task=8"))
        // The longest shard takes 80 minutes, the largest one 4 GiB.
        #expect(lines.contains("#SBATCH --time=175"))
        #expect(job.budgetMiB == 4839 && job.memoryMiB == 4839 + 1209)
        let command = try #require(lines.last)
        #expect(
            command.hasPrefix("exec /opt/nocturne run '/share/out put' --shard \"$SLURM_ARRAY_TASK_ID/4\" --requeue")
        )
        #expect(command.contains("--memory 4839M"))
        // The folder may have the name of a person, and all users of the cluster see that of the job.
        #expect(lines.contains("#SBATCH --job-name=nocturne") && !job.script.prefix { $0 != "'" }.contains("out put"))
        // Options end at the first command.
        #expect(lines.dropFirst().dropLast().allSatisfy { $0.hasPrefix("#SBATCH ") })
    }

    @Test("a path cannot add a command")
    func quoting() {
        let command = job("/a'; rm -rf $HOME; echo `x` \"").script.split(separator: "\n").last ?? ""
        #expect(command.contains("'/a'\\''; rm -rf $HOME; echo `x` \"'"))
        // Nor an option: Slurm reads all lines before the first command.
        let broken = job("/a\n#SBATCH --uid=0\nrm -rf /\nb c%j")
        let lines = broken.script.split(separator: "\n").prefix { !$0.hasPrefix("exec ") }
        #expect(lines.allSatisfy { $0.hasPrefix("#") && !$0.contains("uid") })
        #expect(!broken.mergeScript.prefix { $0 != "'" }.contains("uid"))
        #expect(broken.script.contains("run '/a\n#SBATCH --uid=0\nrm -rf /\nb c%j' --shard"))
        #expect(broken.options.first == "--chdir=/a\n#SBATCH --uid=0\nrm -rf /\nb c%j/.nocturne/tasks")
    }

    @Test("a folder for work is one of each machine: a variable at its beginning is expanded there, and nothing else")
    func work() {
        var job = job()
        job.work = "$TMPDIR/results"
        #expect(job.script.contains("--work \"$TMPDIR/results\"\n"))
        let words = ["/scratch", "$(rm x)", "$A`x`", "a$B", "$A/ b"]
        #expect(words.map(Slurm.Job.expanded) == ["/scratch", "'$(rm x)'", "'$A`x`'", "'a$B'", "'$A/ b'"])
    }

    @Test("starts again are counted by reason: those that the task asked for, and those of Slurm")
    func starts() throws {
        func task(_ restarts: Int, _ job: String = "7_2") -> Slurm.Task {
            Slurm.Task(job: job, restarts: restarts, end: 1000)
        }
        var starts = Slurm.TaskStarts()
        starts.begin(task(0))
        #expect(starts.starts == 1 && starts.text == nil)
        starts.putBack(.timeLimit)
        starts.begin(task(1))
        #expect(starts.timeLimits == 1 && starts.preemptions == 0)
        // Preempted, and a start whose machine failed before it was recorded.
        starts.begin(task(3))
        #expect(starts.starts == 4 && starts.preemptions == 2)
        starts.putBack(.unsuitableMachine)
        starts.begin(task(4))
        // Cancelled, and submitted anew.
        starts.begin(task(0, "9_2"))
        starts.begin(task(1, "9_2"))
        #expect(starts.starts == 7 && starts.preemptions == 3 && starts.unsuitableMachines == 1)
        #expect(
            starts.text
                == "started again: 1 at the time limit, 3 preempted, or after its machine failed, "
                + "1 on a machine without the instruction set"
        )
        #expect((starts + starts).preemptions == 6)
        #expect(task(0).isNearEnd(at: 900, currentEnd: nil) && !task(0).isNearEnd(at: 800, currentEnd: 1000))
        // Somebody has lowered the time limit.
        #expect(task(0).isNearEnd(at: 800, currentEnd: 900))
    }

    @Test("they are kept beside the journal of the shard")
    func recordedStarts() throws {
        let folder = try TemporaryFolder()
        let shard = OutputFolder(folder.path).shard(3)
        #expect(Slurm.TaskStarts.recorded(for: shard) == Slurm.TaskStarts())
        try FileSystem.makeFolder(folder.path + "/.nocturne")
        try FileSystem.makeFolder(shard.shards)
        try FileSystem.makeFolder(shard.hidden)
        Slurm.TaskStarts.record(for: shard) { $0.begin(Slurm.Task(job: "7_3", restarts: 0, end: nil)) }
        Slurm.TaskStarts.record(for: shard) { $0.putBack(.other) }
        #expect(
            Slurm.TaskStarts.recorded(for: shard).otherEnds == 1 && Slurm.TaskStarts.recorded(for: shard).starts == 1
        )
    }

    @Test("arrays are written as ranges")
    func ranges() {
        #expect(Slurm.Job.indexes([1, 2, 3, 7, 9, 10]) == "1-3,7,9-10")
        #expect(Slurm.Job.indexes([5]) == "5" && Slurm.Job.indexes([]).isEmpty)
    }

    @Test("limits and ends are read from what scontrol prints")
    func answers() throws {
        let configuration = "MailProg                = /bin/mail\nMaxArraySize            = 1001\nMaxDBDMsgs = 20016\n"
        #expect(Slurm.mostTasks(inConfiguration: configuration) == 1000)
        #expect(Slurm.mostTasks(inConfiguration: "") == nil)
        let end = try #require(
            Slurm.Task.end(
                inJob: "JobId=7 JobName=x StartTime=2026-11-23T11:00:00 EndTime=2026-11-23T12:30:05 Deadline=N/A"
            )
        )
        let start = try #require(Slurm.Task.end(inJob: "EndTime=2026-11-23T11:00:00"))
        #expect(end - start == 5405)
        #expect(Slurm.Task.excludedNodes(inJob: "NodeList=a ExcNodeList=night[1-2] NumNodes=1") == ["night[1-2]"])
        #expect(Slurm.Task.excludedNodes(inJob: "ExcNodeList=(null) ExcNodeList").isEmpty)
        #expect(Slurm.Task.end(inJob: "EndTime=Unknown") == nil && Slurm.Task.end(inJob: "") == nil)
    }

    @Test("a task is never taken for its whole array")
    func name() {
        let array = ["SLURM_ARRAY_JOB_ID": "2", "SLURM_ARRAY_TASK_ID": "12"]
        #expect(Slurm.Task.name("2", array) == "2_12")
        #expect(Slurm.Task.name("7", [:]) == "7")
    }

    @Test("a task goes back into the queue when items wait, and not when a person has ended it")
    func requeue() {
        let task = Slurm.Task(job: "7", restarts: 0, end: 1000)
        #expect(task.requeues(after: 75, seconds: 90, at: 500))
        #expect(task.requeues(after: 143, seconds: 90, at: 999) && !task.requeues(after: 143, seconds: 90, at: 500))
        for code: Int32 in [0, 1, 2, 3, 4, 130] { #expect(!task.requeues(after: code, seconds: 90, at: 999)) }
        #expect(!Slurm.Task(job: "7", restarts: 50, end: nil).requeues(after: 75, seconds: 90, at: 0))
        #expect(!Slurm.Task(job: "7", restarts: 0, end: nil).requeues(after: 143, seconds: 90, at: 0))
        // A time limit in which nothing can be done.
        let again = Slurm.Task(job: "7", restarts: 5, end: nil)
        #expect(!again.requeues(after: 75, seconds: 2, at: 0) && again.requeues(after: 75, seconds: 90, at: 0))
        #expect(again.requeues(after: 75, seconds: 2, at: 0, isElsewhere: true))
    }

    @Test("a controller that restarts is asked again, a wrong option is not")
    func refusals() {
        #expect(
            Slurm.mayPass(
                "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)"
            )
        )
        #expect(Slurm.mayPass("Socket timed out on send/recv operation"))
        #expect(!Slurm.mayPass("sbatch: error: invalid partition specified: x"))
    }
}
