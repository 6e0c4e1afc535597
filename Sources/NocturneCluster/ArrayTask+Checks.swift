public import NocturneBatch

extension ArrayTask {
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
    /// Whether this machine and program give the same bits as the one that made the plan.
    /// - Throws: ``BatchError`` with `otherArithmetic`.
    public func checkArithmetic(
        version: String,
        isAvailable: (_ instructionSet: String) -> Bool,
        _ output: OutputFolder
    ) throws(BatchError) {
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
                    "this machine does not have the instruction set \(instructionSet) of the plan, and would give other last "
                    + "bits: use a machine that has it, or make the plan with --isa for one that all machines have"
            )
        }
    }
}
