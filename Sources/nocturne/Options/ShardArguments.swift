import ArgumentParser
import Foundation
import NocturneBatch
import NocturneCluster
import NocturneInference
import NocturneJournal
import NocturneRecipeSupport
import NocturneRecipes

/// How a batch is divided into shards.
struct ShardArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Divide the batch into this number of shards; auto chooses it from the predicted time.",
            valueName: "n|auto"
        ),
        transform: ShardCount.parse
    )
    var shards: ShardCount?

    @Option(
        help: ArgumentHelp(
            "Machines that will process the shards: with auto there are at least four shards for each.",
            visibility: .more
        )
    )
    var nodes = 1

    @Option(
        help: ArgumentHelp(
            "Instruction set of all machines: \(InstructionSets.names.joined(separator: ", ")). "
                + "Default: the best one of this machine.",
            valueName: "name",
            visibility: .more
        )
    )
    var isa: String?

    func validate() throws {
        guard nodes >= 1 else { throw ValidationError("--nodes must be at least 1.") }
        if let isa, !InstructionSets.names.contains(isa) {
            throw ValidationError(
                "There is no instruction set \(isa); there are \(InstructionSets.names.joined(separator: ", "))."
            )
        }
        // The plan's times and the number of shards depend on a measurement with this instruction set.
        if let isa, !InstructionSets.isAvailable(isa) {
            throw ValidationError("This machine, which times the network for the plan, does not have \(isa).")
        }
    }

    /// The number of shards for these items.
    func count(for total: FoundTable.DivisionTotal) -> Int {
        switch shards {
        case .number(let number): return number
        case .auto, nil:
            // Several shards for each machine: one that is faster than predicted takes the next one.
            return Division.Packing.count(
                for: total.items,
                seconds: total.seconds,
                nodes: nodes,
                mostShards: Slurm.mostTasks()
            )
        }
    }
}

enum ShardCount: OptionValue {
    static var allowed: String { "auto, or a number from 1 to 100000" }

    case auto
    case number(Int)

    init?(argument: String) {
        if argument == "auto" {
            self = .auto
        } else if let number = Int(argument), number >= 1, number <= 100_000 {
            self = .number(number)
        } else {
            return nil
        }
    }
}

extension ShardArguments {
    /// What all machines are to use. In float32, AVX-512 gives the same bits with bfloat16 instructions; matrix tiles give others, and
    /// few machines have them.
    func instructionSet(for precision: InferencePrecision) -> String {
        let best = isa ?? InstructionSets.best(environment: ProcessInfo.processInfo.environment)
        let isFloat = precision != .bfloat16 && !best.hasSuffix("-split")
        return isa == nil && isFloat && ["avx512-bf16", "amx"].contains(best) ? "avx512" : best
    }
}

extension PlanReport {
    /// Chooses the items that are divided: adds them to the plan's journal, with what is predicted.
    /// - Parameters:
    ///   - isChosen: whether an item gets a place in a shard. By default those do not that are set aside, refused or completed.
    ///   - needsMore: by the key of an item: whether twice the memory is predicted.
    /// - Returns: what they are together.
    func chooseDivisible(
        where isChosen: (PlanReport.Item) -> Bool = { $0.state.isWork },
        needsMore: (String) -> Bool = { _ in false }
    ) throws -> FoundTable.DivisionTotal {
        try items.forEachPortion { portion in
            try items.journal.found.add(
                portion.filter(isChosen).map { item in
                    // Every task has an engine with models.
                    let bytes = engineBytes + (item.peakBytes ?? 0)
                    return DivisibleItem(
                        at: item.place,
                        seconds: item.seconds ?? 0,
                        bytes: needsMore(item.key) ? 2 * bytes : bytes
                    )
                }
            )
        }
        return try items.journal.found.divisionTotal()
    }
}
