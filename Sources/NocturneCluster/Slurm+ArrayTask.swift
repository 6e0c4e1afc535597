public import NocturneOutput

extension Slurm {
    /// Which shard a task of a job array is to process.
    public struct ArrayTask: Sendable, Equatable {
        /// Counted from 1.
        public let shard: Int
        /// The number of shards that the caller expects; nil where the scheduler does not state it.
        public let count: Int?

        /// - Parameters:
        ///   - shard: from 1.
        ///   - count: the number of tasks of the array; nil where the scheduler does not state it.
        public init(shard: Int, count: Int?) {
            self.shard = shard
            self.count = count
        }

        /// From text such as "3/12"; nil for other text.
        public init?(_ text: String) {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
            guard parts.count == 2, let shard = parts[0], let count = parts[1], count > 0, (1...count).contains(shard)
            else { return nil }
            self.init(shard: shard, count: count)
        }

        /// From the environment of a task of an array of Slurm, PBS or SGE, or of an indexed Job of Kubernetes. The arrays of
        /// PBS have to be numbered from 1; those of Slurm and SGE may begin anywhere: the place in the array counts.
        /// - Returns: nil outside of such a task.
        public init?(environment: [String: String]) {
            func number(_ name: String) -> Int? { environment[name].flatMap { Int($0) } }
            func place(_ index: Int, first: String, step: String) -> Int {
                (index - (number(first) ?? 1)) / max(number(step) ?? 1, 1) + 1
            }
            if let index = number("SLURM_ARRAY_TASK_ID") {
                let shard = place(index, first: "SLURM_ARRAY_TASK_MIN", step: "SLURM_ARRAY_TASK_STEP")
                self.init(shard: shard, count: number("SLURM_ARRAY_TASK_COUNT"))
            } else if let index = number("SGE_TASK_ID") {
                self.init(shard: place(index, first: "SGE_TASK_FIRST", step: "SGE_TASK_STEPSIZE"), count: nil)
            } else if let index = number("PBS_ARRAY_INDEX") ?? number("PBS_ARRAYID") {
                self.init(shard: index, count: nil)
            } else if let index = number("JOB_COMPLETION_INDEX") {
                // Kubernetes counts from 0.
                self.init(shard: index + 1, count: nil)
            } else {
                return nil
            }
        }
    }
}

extension Slurm.ArrayTask {
    /// - Throws: ``BatchError`` when the plan does not have this shard, or another number of shards.
    public func check(_ plan: ShardPlan, _ output: OutputFolder) throws(BatchError) {
        let all = plan.shards.count
        guard (1...max(all, 1)).contains(shard), count == nil || count == all else {
            let own = count.map { "\(shard)/\($0)" } ?? "\(shard)"
            throw BatchError(
                .notAShard,
                path: output.path,
                detail: "there is no shard \(own): the batch has \(all) shards, from 1/\(all) to \(all)/\(all)"
            )
        }
    }
}

extension ShardPlan {
    /// Whether results of this machine and program are bit-identical to those of the one that made the plan.
    /// - Throws: ``BatchError`` with `otherArithmetic`.
    public func checkArithmetic(
        version: String,
        isAvailable: (_ instructionSet: String) -> Bool,
        _ output: OutputFolder
    ) throws(BatchError) {
        // Another version may compute other values.
        guard version == self.version else {
            throw BatchError(
                .otherArithmetic,
                path: output.path,
                detail:
                    "the plan was made by version \(self.version) of Nocturne, this is \(version): use the same one on all "
                    + "machines"
            )
        }
        if let instructionSet, !isAvailable(instructionSet) {
            throw BatchError(
                .otherArithmetic,
                path: output.path,
                detail:
                    "this machine does not have the instruction set \(instructionSet) of the plan, and results would not be "
                    + "bit-identical: use a machine that has it, or make the plan with --isa for one that all machines have"
            )
        }
    }
}
