import ArgumentParser
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneSupervisor
import NocturneSystem

/// Memory, threads and time: options that never change a result.
struct ResourceArguments: ParsableArguments {
    @Option(help: "Memory budget, such as 8G. Default: 80 % of available memory.", transform: ByteCount.parse)
    var memory: ByteCount?

    @Option(
        name: [.customShort("j"), .long],
        help: "Compute threads. Default: one per core that the process may use.",
        transform: ThreadCount.parse
    )
    var threads: ThreadCount?

    @Option(help: "When the disk is full: pause until space is free, or stop so that the batch can be resumed.")
    var onFull = FullDiskPolicy.pause

    @Option(
        help: ArgumentHelp(
            "Prepare results in this folder on a local disk, such as $TMPDIR of a cluster; finished ones are copied.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var work: String?

    @Option(help: "Start items only within these hours, such as 20:00-06:00.", transform: WorkingHours.Window.parse)
    var between: WorkingHours.Window?

    @Option(
        help: "Do not start items unlikely to finish by this time, such as 06:00; exit with 75.",
        transform: WorkingHours.TimeOfDay.parse
    )
    var finishBy: WorkingHours.TimeOfDay?

    @Flag(help: "Continue without this terminal; follow the output with `nocturne attach`.")
    var detach = false

    @Option(
        help: "Treat an item as stalled after this many seconds without progress; 0 for never. Default: 1800.",
        transform: SecondsLimit.parse
    )
    var stallLimit = SecondsLimit(1800)

    @Option(
        help: "Fail an item that takes longer than this, such as 30m or 2h; the others continue. 0 for no limit.",
        transform: DurationLimit.parse
    )
    var itemTimeout = DurationLimit.none

    @Option(
        help: ArgumentHelp(
            "Run this command with sh when an item has ended; its environment names item, state and folder.",
            valueName: "command"
        )
    )
    var onItem: String?

    @Option(
        help: ArgumentHelp(
            "Run this command with sh at the end of the run; its environment has exit code and counts.",
            valueName: "command"
        )
    )
    var onEnd: String?

    @Option(
        help: ArgumentHelp(
            "Report values outside of the ranges in this CSV file as unusual: label, measure, low, high; optionally model.",
            valueName: "file"
        ),
        completion: .file(extensions: ["csv"])
    )
    var norms: String?

    @Flag(help: ArgumentHelp("Inject the faults that NOCTURNE_FAULT describes, for tests.", visibility: .hidden))
    var faultInjection = false

    /// - Throws: `ValidationError` if an ordinary run has faults in its environment.
    func validate() throws {
        _ = try faultSpecification()
        if work?.isEmpty == true {
            throw ValidationError("--work has no folder: is the variable in it not set on this machine?")
        }
    }

    /// - Parameter action: ends the process.
    func stallPolicy(action: @escaping @Sendable (String) -> Void) -> StallPolicy? {
        guard stallLimit.seconds != nil || itemTimeout.seconds != nil else { return nil }
        return StallPolicy(seconds: stallLimit.seconds, itemSeconds: itemTimeout.seconds, action: action)
    }

    /// The faults specified in the environment, which only a run with `--fault-injection` accepts.
    func faultSpecification() throws -> String? {
        let specification = ProcessInfo.processInfo.environment["NOCTURNE_FAULT"]
        guard specification == nil || faultInjection else {
            throw ValidationError("NOCTURNE_FAULT is set, which only tests with --fault-injection use; unset it")
        }
        return specification
    }

    /// The reference table; nil for none.
    /// - Throws: `BatchError` for a file that cannot be used.
    func referenceRanges() throws -> [ReferenceRange]? { try norms.map { try ReferenceRanges.read(absolutePath($0)) } }

    var hooks: Hooks { Hooks(onItem: onItem, onEnd: onEnd) }

    var workingHours: WorkingHours { WorkingHours(window: between, finishBy: finishBy) }

    /// The memory budget; nil for the default.
    func memoryBytes() -> Int? { memory?.bytes }

    /// What a plan reckons with.
    var limits: ResourceLimits { ResourceLimits(threads: width(), memoryBytes: memoryBytes()) }

    /// The number of compute threads.
    func width() -> Int { threads?.count ?? CoreAllowance.count() }
}

/// Options for the output of a run.
struct OutputArguments: ParsableArguments {
    @Flag(help: "Print events as JSON lines on standard output.")
    var json = false

    @Flag(name: [.short, .long], help: "Print errors and failed items only, no progress.")
    var quiet = false

    @Option(
        help: ArgumentHelp(
            "At the end write to this file when each item was in which stage, as a trace for Perfetto.",
            valueName: "file"
        ),
        completion: .file()
    )
    var trace: String?
}
