internal import CPosix
public import Foundation

/// How many processor cores a process may use.
public enum CoreAllowance {
    /// The fewest of: the cores that the process may be scheduled on, the quota of its control groups, and what Slurm has
    /// allocated to the task. A quota is rounded down: more threads than cores would be stopped in turns.
    ///
    /// - Parameters:
    ///   - scheduled: the cores of the process's affinity; nil for all that are active.
    ///   - environment: `SLURM_CPUS_PER_TASK`, and otherwise `SLURM_CPUS_ON_NODE`, count inside a job.
    ///   - procRoot: where procfs is mounted.
    ///   - cgroupRoot: where the control groups are mounted (v2 there, v1 in `cpu` below it).
    /// - Returns: at least 1.
    public static func count(
        scheduled: Int? = CoreAllowance.affinity(),
        environment: [String: String] = ProcessInfo.processInfo.environment,
        procRoot: String = "/proc",
        cgroupRoot: String = "/sys/fs/cgroup"
    ) -> Int {
        let quota = quota(procRoot: procRoot, cgroupRoot: cgroupRoot).map { Int($0) }
        let scheduled = scheduled ?? ProcessInfo.processInfo.activeProcessorCount
        return max(1, [scheduled, quota, allocated(environment)].compactMap(\.self).min() ?? 1)
    }

    /// The number of cores that the process may be scheduled on; nil where the system does not report it.
    public static func affinity() -> Int? {
        let count = Int(cposix_scheduled_cores())
        return count > 0 ? count : nil
    }

    private static func allocated(_ environment: [String: String]) -> Int? {
        guard environment["SLURM_JOB_ID"] != nil else { return nil }
        return ["SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"].lazy.compactMap { environment[$0].flatMap(Int.init) }
            .first { $0 > 0 }
    }

    /// In cores; nil without a limit.
    private static func quota(procRoot: String, cgroupRoot: String) -> Double? {
        let place = MemoryReading.ControlGroup.place(procRoot: procRoot, cgroupRoot: cgroupRoot, controller: "cpu")
        guard let place else { return nil }
        return MemoryReading.ControlGroup.walk(
            from: place.path,
            below: place.root,
            place.isLegacy ? legacyQuota : unifiedQuota
        ).min()
    }

    /// `cpu.max`: "50000 100000", or "max 100000".
    private static func unifiedQuota(at folder: String) -> Double? {
        guard let text = MemoryReading.contents(of: folder + "/cpu.max") else { return nil }
        let fields = text.split(whereSeparator: \.isWhitespace).map { Double($0) }
        guard fields.count == 2, let time = fields[0], let period = fields[1], time > 0, period > 0 else { return nil }
        return time / period
    }

    private static func legacyQuota(at folder: String) -> Double? {
        guard let time = MemoryReading.ControlGroup.number(at: folder + "/cpu.cfs_quota_us"), time > 0,
            let period = MemoryReading.ControlGroup.number(at: folder + "/cpu.cfs_period_us"), period > 0
        else { return nil }
        return Double(time) / Double(period)
    }
}
