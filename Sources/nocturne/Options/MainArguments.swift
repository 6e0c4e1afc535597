import ArgumentParser
import Foundation
import NocturneBatch
import NocturneInference
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem

// The options that commands have in common and that most people need.

/// Compute threads.
struct ThreadArguments: ParsableArguments {
    @Option(
        name: [.customShort("j"), .long],
        help: "Compute threads. Default: one per core that the process may use.",
        transform: Int.threadCount
    )
    var threads: Int?

    /// Their number.
    var width: Int { threads ?? CoreAllowance.count() }
}

/// Memory and threads.
struct MachineArguments: ParsableArguments {
    // Unconditional: a negative number is refused as a value, with those that are accepted, and not taken for an option.
    @Option(
        parsing: .unconditional,
        help: "Memory budget, such as 8G. Default: 80 % of available memory.",
        transform: ByteCount.parse
    )
    var memory: ByteCount?

    @OptionGroup private var compute: ThreadArguments

    /// - Throws: `ValidationError` if the environment limits networks to an instruction set that is not known.
    func validate() throws {
        let limit = ProcessInfo.processInfo.environment[InstructionSets.variable] ?? ""
        if let refusal = InstructionSets.refusal(of: limit) { throw ValidationError(refusal) }
    }

    /// Nil where they are not given.
    var threads: Int? { compute.threads }
    /// The number of compute threads.
    var width: Int { compute.width }

    /// What a plan calculates with.
    var limits: ResourceLimits { ResourceLimits(threads: width, memoryBytes: memory?.bytes) }
}

/// How `run` and `resume` treat the items of a batch.
struct AttemptArguments: ParsableArguments {
    @Flag(help: "Show what would be done, or is left to be done, without processing or writing anything.")
    var dryRun = false

    @Flag(help: "Try failed, cancelled and quarantined items again.")
    var failed = false

    /// Items that have ended without a result are left alone unless asked for: most would fail again.
    var retries: RetrySelection { failed ? .all : .none }
}

/// How a command continues a batch with changed options.
struct ChangeConsent {
    /// Whether the command line confirms them; otherwise the user is asked, or the run is refused.
    var isGiven: Bool
    /// Whether the user may be asked.
    var mayAsk: Bool
}

/// The option that confirms changes that affect results of a batch.
struct ConsentArguments: ParsableArguments {
    @Flag(help: "Do not ask before results are made again or taken out of the batch.")
    var yes = false

    /// How `run` and `watch` continue a batch; nil where the list of inputs can be read only once, such as a pipe, and is left
    /// to the engine.
    func consent(list: String?) -> ChangeConsent? {
        guard list.map({ FileSystem.kind($0) == .file }) ?? true else { return nil }
        return ChangeConsent(isGiven: yes, mayAsk: !yes)
    }
}
