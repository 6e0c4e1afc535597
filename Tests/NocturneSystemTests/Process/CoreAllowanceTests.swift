import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Cores that a process may use")
struct CoreAllowanceTests {
    @Test(
        "The fewest of affinity, quota and allocation count, and at least one",
        arguments: [
            (128, nil, [:], 128), (1, nil, [:], 1), (128, "50000 100000", [:], 1), (128, "350000 100000", [:], 3),
            (2, "400000 100000", [:], 2), (128, "max 100000", [:], 128), (128, "nonsense", [:], 128),
            (128, nil, ["SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "12", "SLURM_CPUS_ON_NODE": "64"], 12),
            (128, nil, ["SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "64"], 64),
            (128, nil, ["SLURM_CPUS_PER_TASK": "12"], 128), (128, nil, ["SLURM_JOB_ID": "7"], 128),
            (8, "1200000 100000", ["SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "0"], 8), (0, nil, [:], 1),
        ] as [(Int, String?, [String: String], Int)]
    )
    func fewest(scheduled: Int, quota: String?, environment: [String: String], expected: Int) throws {
        let folder = try TemporaryFolder()
        try folder.write("0::/job/step\n", to: "proc/self/cgroup")
        try folder.write("max 100000\n", to: "cgroup/job/step/cpu.max")
        // The quota of a group above counts, too.
        if let quota { try folder.write(quota + "\n", to: "cgroup/job/cpu.max") }
        let count = CoreAllowance.count(
            scheduled: scheduled,
            environment: environment,
            procRoot: folder("proc").path,
            cgroupRoot: folder("cgroup").path
        )
        #expect(count == expected)
    }

    @Test("A quota of version 1 of control groups counts")
    func legacy() throws {
        let folder = try TemporaryFolder()
        try folder.write("4:cpu,cpuacct:/slurm\n0::/\n", to: "proc/self/cgroup")
        try folder.write("250000\n", to: "cgroup/cpu/slurm/cpu.cfs_quota_us")
        try folder.write("100000\n", to: "cgroup/cpu/slurm/cpu.cfs_period_us")
        try folder.write("-1\n", to: "cgroup/cpu/cpu.cfs_quota_us")
        let roots = (folder("proc").path, folder("cgroup").path)
        #expect(CoreAllowance.count(scheduled: 64, environment: [:], procRoot: roots.0, cgroupRoot: roots.1) == 2)
    }
}
