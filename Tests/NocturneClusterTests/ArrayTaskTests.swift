import NocturneBatch
import NocturneCluster
import NocturneOutput
import Testing

@Suite("Shards of the tasks of job arrays")
struct ArrayTaskTests {
    @Test("text names a shard, or nothing")
    func text() {
        #expect(Slurm.ArrayTask("3/12") == Slurm.ArrayTask(shard: 3, count: 12))
        for text in ["", "3", "0/12", "13/12", "3/0", "a/b", "3/12/1", "-1/4", "3/"] {
            #expect(Slurm.ArrayTask(text) == nil, "\(text)")
        }
    }

    @Test(
        "schedulers count in their own ways",
        arguments: [
            (["SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "9"], 7, 9),
            (["SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_COUNT": "4"], 1, 4),
            (
                [
                    "SLURM_ARRAY_TASK_ID": "16", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_STEP": "2",
                    "SLURM_ARRAY_TASK_COUNT": "5",
                ], 4, 5
            ),
            (["SGE_TASK_ID": "5", "SGE_TASK_FIRST": "1", "SGE_TASK_STEPSIZE": "2"], 3, nil),
            (["SGE_TASK_ID": "2", "SGE_TASK_STEPSIZE": "undefined"], 2, nil),
            (["PBS_ARRAY_INDEX": "6"], 6, nil), (["PBS_ARRAYID": "2"], 2, nil), (["JOB_COMPLETION_INDEX": "0"], 1, nil),
        ] as [([String: String], Int, Int?)]
    )
    func environment(_ variables: [String: String], shard: Int, count: Int?) {
        #expect(Slurm.ArrayTask(environment: variables) == Slurm.ArrayTask(shard: shard, count: count))
    }

    @Test("outside of an array there is none; SGE says undefined for ordinary jobs")
    func none() {
        #expect(Slurm.ArrayTask(environment: [:]) == nil)
        #expect(Slurm.ArrayTask(environment: ["SGE_TASK_ID": "undefined"]) == nil)
    }

    @Test("a shard that the plan does not have is refused, and so are other machines and versions")
    func checks() throws {
        let plan = ShardPlan(
            shards: (1...3).map { .init(number: $0, items: 1, seconds: 1, bytes: 1) },
            version: "1",
            instructionSet: "avx512",
            threads: 1
        )
        let output = OutputFolder("/out")
        try Slurm.ArrayTask(shard: 3, count: 3).check(plan, output)
        try Slurm.ArrayTask(shard: 3, count: nil).check(plan, output)
        for task in [
            Slurm.ArrayTask(shard: 4, count: nil), Slurm.ArrayTask(shard: 1, count: 4),
            Slurm.ArrayTask(shard: 0, count: nil),
        ] {
            #expect(throws: BatchError.self) { try task.check(plan, output) }
        }
        try plan.checkArithmetic(version: "1", isAvailable: { $0 == "avx512" }, output)
        #expect(throws: BatchError.self) { try plan.checkArithmetic(version: "2", isAvailable: { _ in true }, output) }
        #expect(throws: BatchError.self) { try plan.checkArithmetic(version: "1", isAvailable: { _ in false }, output) }
    }
}
