import ArgumentParser
import Foundation
import NocturneBatch
import NocturneJournal
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport

/// Memory, threads and time: options that never change a result.
struct ResourceArguments: ParsableArguments {
    @OptionGroup(title: ShortHelp.title) var machine: MachineArguments
    @OptionGroup(title: "Schedule") var schedule: ScheduleArguments
    @OptionGroup(title: "Files and commands of the user") var attachments: AttachmentArguments

    @Flag(help: ArgumentHelp("Inject the faults that NOCTURNE_FAULT describes, for tests.", visibility: .private))
    var faultInjection = false

    /// - Throws: `ValidationError` if an ordinary run has faults in its environment.
    func validate() throws { _ = try faultSpecification() }

    /// - Throws: `ValidationError` for options of a run, of which a division keeps none: accepted, a pilot would not wait for its
    ///   approval.
    func checkFitDivision() throws {
        let ofRuns = schedule.given + attachments.given
        guard !ofRuns.isEmpty else { return }
        throw ValidationError(
            "\(ofRuns.joined(separator: ", ")): not kept when a batch is divided; give it to each `nocturne run OUT --shard K/N`"
        )
    }

    /// The faults specified in the environment, which only a run with `--fault-injection` accepts.
    func faultSpecification() throws -> String? {
        let specification = ProcessInfo.processInfo.environment["NOCTURNE_FAULT"]
        guard specification == nil || faultInjection else {
            throw ValidationError("NOCTURNE_FAULT is set, which only tests with --fault-injection use; unset it")
        }
        return specification
    }
}

/// When and how long a run works, and what it does when it cannot.
struct ScheduleArguments: ParsableArguments {
    private static let stallSeconds = 1800

    @Flag(help: "Continue without this terminal; follow the output with `nocturne status --follow`.")
    var detach = false

    @Option(
        help: ArgumentHelp("Start items only within these hours, such as 20:00-06:00.", visibility: .more),
        transform: WorkingHours.Window.parse
    )
    var between: WorkingHours.Window?

    @Option(
        help: ArgumentHelp(
            "Do not start items unlikely to finish by this time, such as 06:00; exit with 75.",
            visibility: .more
        ),
        transform: WorkingHours.TimeOfDay.parse
    )
    var finishBy: WorkingHours.TimeOfDay?

    @Option(
        help: ArgumentHelp(
            "Treat an item as stalled after this time without progress, such as 30m; 0 for never. Default: 30m.",
            visibility: .more
        ),
        transform: DurationLimit.parse
    )
    var stallLimit = DurationLimit(seconds: stallSeconds)

    @Option(
        help: ArgumentHelp(
            "Fail an item that takes longer than this, such as 30m or 2h; the others continue. 0 for no limit.",
            visibility: .more
        ),
        transform: DurationLimit.parse
    )
    var itemTimeout = DurationLimit(seconds: 0)

    @Option(
        help: ArgumentHelp(
            "When the disk is full: pause until space is free, for a day at most, or stop; either can be resumed.",
            visibility: .more
        )
    )
    var onFull = FullDiskPolicy.pause

    @Option(
        help: ArgumentHelp(
            """
            Stop with 75 when the latest items show that the batch is wrong: same=N items in a row that fail with one code, \
            empty=N label maps in a row, failed=P%/N or outside=P%/N (--norms) of the last N items, failed=1 for the first \
            failure; or never. Default: same=20,empty=20.
            """,
            valueName: "rules",
            visibility: .more
        ),
        transform: StopRules.parse
    )
    var stopWhen = StopRules()

    @Option(
        help: ArgumentHelp(
            "Order of processing: by path, the newest, smallest or largest first, or spread over models and folders.",
            visibility: .more
        )
    )
    var order: WorkOrder?

    @Option(
        help: ArgumentHelp(
            "Process this number of items, spread over models and folders, then stop with 75 to look at them; resume continues.",
            valueName: "items",
            visibility: .more
        ),
        transform: Int.itemCount
    )
    var pilot: Int?

    @Flag(
        help: ArgumentHelp(
            "After the items of --pilot wait for `nocturne approve`, in this run and in later ones, before others are processed.",
            visibility: .more
        )
    )
    var approve = false

    @Flag(
        help: ArgumentHelp("Stop with 75 instead of waiting for the approval of a pilot.", visibility: .more)
    )
    var noWait = false

    func validate() throws {
        if approve, pilot == nil {
            throw ValidationError("--approve needs --pilot, the number of items to look at first.")
        }
    }

    /// The options that were given, except with their default value.
    var given: [String] {
        let options: [(name: String, isGiven: Bool)] = [
            ("--detach", detach), ("--between", between != nil), ("--finish-by", finishBy != nil),
            ("--stall-limit", stallLimit.seconds != Self.stallSeconds), ("--item-timeout", itemTimeout.seconds != nil),
            ("--on-full", onFull != .pause), ("--stop-when", stopWhen != StopRules()), ("--order", order != nil),
            ("--pilot", pilot != nil), ("--approve", approve), ("--no-wait", noWait),
        ]
        return options.filter(\.isGiven).map(\.name)
    }

    /// When items may be started.
    /// Both limits together: `--between` repeats every day, `--finish-by` is one time.
    var hours: WorkingHours { WorkingHours(window: between, finishBy: finishBy) }

    /// - Parameter action: ends the process.
    func stallPolicy(action: @escaping @Sendable (String) -> Void) -> StallPolicy? {
        // Without either limit nothing has to be observed.
        guard stallLimit.seconds != nil || itemTimeout.seconds != nil else { return nil }
        return StallPolicy(seconds: stallLimit.seconds, itemSeconds: itemTimeout.seconds, action: action)
    }
}

/// Folders, tables and commands that a run uses besides its inputs.
struct AttachmentArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Prepare results in this folder on a local disk, such as $TMPDIR of a cluster; finished ones are copied.",
            valueName: "folder",
            visibility: .more
        ),
        completion: .directory
    )
    var work: String?

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            """
            Copy results that this other batch has of items with the same name, sources, model and options, after a check of \
            their digests, in place of processing them. Repeatable; later runs of the batch do the same.
            """,
            valueName: "output",
            visibility: .more
        ),
        completion: .batch
    )
    var reuse: [String] = []

    @Option(
        help: ArgumentHelp(
            "Run this command with sh when an item has ended; its environment names item, state and folder.",
            valueName: "command",
            visibility: .more
        )
    )
    var onItem: String?

    @Option(
        help: ArgumentHelp(
            "Run this command with sh at the end of the run; its environment has exit code and counts.",
            valueName: "command",
            visibility: .more
        )
    )
    var onEnd: String?

    @Option(
        help: ArgumentHelp(
            "Report values outside of the ranges in this CSV file as unusual: label, measure, low, high; optionally model.",
            valueName: "file",
            visibility: .more
        ),
        completion: .file(extensions: ["csv"])
    )
    var norms: String?

    func validate() throws {
        // An empty path would be the current folder, which is hardly ever on the local disk that is meant.
        if work?.isEmpty == true {
            throw ValidationError("--work is empty: an environment variable in it is probably not set here.")
        }
        if reuse.contains("") { throw ValidationError("--reuse is empty: name the output folder of a batch.") }
    }

    /// The options for files and commands of a run that were given.
    var given: [String] {
        [
            ("--work", work != nil), ("--reuse", !reuse.isEmpty), ("--on-item", onItem != nil),
            ("--on-end", onEnd != nil),
        ].filter(\.1).map(\.0)
    }

    /// The reference table; nil for none.
    /// - Throws: `BatchError` for a file that cannot be used.
    func referenceRanges() throws -> [ReferenceRange]? { try norms.map { try ReferenceRange.read(absolutePath($0)) } }

    /// The folders of `--reuse`.
    var reusedBatches: [String] { reuse.map { absolutePath($0) } }
}

/// Options for the output of a run.
struct OutputArguments: ParsableArguments {
    @Flag(name: [.short, .long], help: "Print errors and failed items only, no progress.")
    var quiet = false

    @Flag(help: ArgumentHelp("Print events as JSON lines on standard output.", visibility: .more))
    var json = false

    @Option(
        help: ArgumentHelp(
            "At the end write a timeline of all items and stages to this file, as a trace for Perfetto.",
            valueName: "file",
            visibility: .more
        ),
        completion: .file()
    )
    var trace: String?
}
